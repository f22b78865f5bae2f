-- $1 number, $2 topic, $3 source, $4 type, each or null for any
SELECT count(*) AS found
FROM {outbox_dead} AS d FORCE INDEX (discarded)
STRAIGHT_JOIN {outbox} AS o ON o.id = d.id
WHERE d.discarded_at IS NULL
  AND ($1 IS NULL OR d.id = $1)
  AND ($2 IS NULL OR o.topic = $2)
  AND ($3 IS NULL OR o.source = $3)
  AND ($4 IS NULL OR o.type = $4)
