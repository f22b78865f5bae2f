-- Dead messages that fit, in order.
-- 1 after which number, 2 number, 3 topic, 4 source, 5 type, each or null for any; 6 how many
SELECT TOP (@P6) d.id
FROM {outbox_dead} AS d
JOIN {outbox} AS o ON o.id = d.id
WHERE d.discarded_at IS NULL
  AND d.id > @P1
  AND (@P2 IS NULL OR d.id = @P2)
  AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
  AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
  AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
ORDER BY d.id
