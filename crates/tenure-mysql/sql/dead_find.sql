-- Dead messages that fit, in order.
-- $1 after which number, $2 number, $3 topic, $4 source, $5 type, each or null for any; $6 how many
SELECT d.id
FROM {outbox_dead} AS d FORCE INDEX (discarded)
STRAIGHT_JOIN {outbox} AS o ON o.id = d.id
WHERE d.discarded_at IS NULL
  AND d.id > $1
  AND ($2 IS NULL OR d.id = $2)
  AND ($3 IS NULL OR o.topic = $3)
  AND ($4 IS NULL OR o.source = $4)
  AND ($5 IS NULL OR o.type = $5)
ORDER BY d.id
LIMIT $6
