-- Dead messages, or discarded ones.
-- 1 before which number, 2 number, 3 topic, 4 source, 5 type, each or null for any; 6 discarded ones; 7 how many
SELECT TOP (@P7) {outbox_summary_columns}
FROM {outbox_dead} AS d
JOIN {outbox} AS o ON o.id = d.id
LEFT JOIN {outbox_pending} AS p ON p.id = d.id
WHERE d.id < @P1
  AND (@P2 IS NULL OR o.id = @P2)
  AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
  AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
  AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
  AND CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END = @P6
ORDER BY d.id DESC
