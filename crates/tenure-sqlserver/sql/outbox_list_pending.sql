-- What is in the queue, and what is to be put into it.
-- 1 before which number, 2 number, 3 topic, 4 source, 5 type, each or null for any; 6 is not used; 7 how many
SELECT TOP (@P7) {outbox_summary_columns}
FROM (
    SELECT waiting.id
    FROM (
        SELECT TOP (@P7) o.id
        FROM {outbox_pending} AS q
        INNER JOIN {outbox} AS o ON o.id = q.id
        WHERE q.id < @P1
          AND q.queued = 1
          AND (@P2 IS NULL OR o.id = @P2)
          AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
          AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
          AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
        ORDER BY q.id DESC
    ) AS waiting
    UNION
    SELECT fresh.id
    FROM (
        SELECT TOP (@P7) o.id
        FROM {outbox} AS o WITH (INDEX (fresh))
        WHERE o.fresh IS NOT NULL
          AND o.id < @P1
          AND (@P2 IS NULL OR o.id = @P2)
          AND (@P3 IS NULL OR (o.topic = @P3 AND DATALENGTH(o.topic) = DATALENGTH(@P3)))
          AND (@P4 IS NULL OR (o.source = @P4 AND DATALENGTH(o.source) = DATALENGTH(@P4)))
          AND (@P5 IS NULL OR (o.type = @P5 AND DATALENGTH(o.type) = DATALENGTH(@P5)))
        ORDER BY o.fresh DESC, o.id DESC
    ) AS fresh
) AS f
JOIN {outbox} AS o ON o.id = f.id
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
ORDER BY o.id DESC
