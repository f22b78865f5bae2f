-- Dead messages, or discarded ones.
-- $1 before which number, $2 number, $3 topic, $4 source, $5 type, each or null for any; $6 discarded ones; $7 how many
SELECT {outbox_summary_columns}
FROM {outbox_dead} AS d FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {outbox} AS o ON o.id = d.id
LEFT JOIN {outbox_pending} AS p ON p.id = d.id
WHERE d.id < $1
  AND ($2 IS NULL OR o.id = $2)
  AND ($3 IS NULL OR o.topic = $3)
  AND ($4 IS NULL OR o.source = $4)
  AND ($5 IS NULL OR o.type = $5)
  AND (d.discarded_at IS NOT NULL) = $6
ORDER BY d.id DESC
LIMIT $7
