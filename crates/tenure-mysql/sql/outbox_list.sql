-- Messages of every state, or only dispatched ones.
-- $1 before which number, $2 number, $3 topic, $4 source, $5 type, each or null for any; $6 only dispatched ones; $7 how many
SELECT {outbox_summary_columns}
FROM {outbox} AS o FORCE INDEX (PRIMARY)
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
WHERE o.id < $1
  AND ($2 IS NULL OR o.id = $2)
  AND ($3 IS NULL OR o.topic = $3)
  AND ($4 IS NULL OR o.source = $4)
  AND ($5 IS NULL OR o.type = $5)
  AND ($6 = 0 OR (p.id IS NULL AND o.fresh IS NULL AND d.id IS NULL))
ORDER BY o.id DESC
LIMIT $7
