-- 1 number, 2 topic, 3 source, 4 type, each or null for any
SELECT COUNT_BIG(*) AS found
FROM {outbox_dead} AS d
JOIN {outbox} AS o ON o.id = d.id
WHERE d.discarded_at IS NULL
  AND (@P1 IS NULL OR d.id = @P1)
  AND (@P2 IS NULL OR (o.topic = @P2 AND DATALENGTH(o.topic) = DATALENGTH(@P2)))
  AND (@P3 IS NULL OR (o.source = @P3 AND DATALENGTH(o.source) = DATALENGTH(@P3)))
  AND (@P4 IS NULL OR (o.type = @P4 AND DATALENGTH(o.type) = DATALENGTH(@P4)))
