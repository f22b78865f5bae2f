-- 1 before which number, 2 number, 3 topic, 4 source, 5 type, each or null for any; 6 is not used; 7 how many
SELECT {outbox_summary_columns}
FROM (
    SELECT TOP (@P7) o.id
    FROM {outbox} AS o
    WHERE o.lane >= 0x
      AND o.id < @P1
      AND o.queued = 1
      AND (@P2 IS NULL OR o.id = @P2)
      AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
      AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
      AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
    ORDER BY o.id DESC
) AS f
JOIN {outbox} AS o ON o.id = f.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
ORDER BY o.id DESC
