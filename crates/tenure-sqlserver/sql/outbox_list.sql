-- Messages of every state, or only dispatched ones.
-- 1 before which number, 2 number, 3 topic, 4 source, 5 type, each or null for any; 6 only dispatched ones; 7 how many
SELECT TOP (@P7) {outbox_summary_columns}
FROM {outbox} AS o
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
WHERE o.id < @P1
  AND (@P2 IS NULL OR o.id = @P2)
  AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
  AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
  AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
  AND (@P6 = 0 OR (p.id IS NULL AND o.fresh IS NULL AND d.id IS NULL))
ORDER BY o.id DESC
