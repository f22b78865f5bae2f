-- What others write at this moment is passed over.
-- 1 for how many microseconds nobody has written them, 2 how many
DELETE r
FROM (
    SELECT TOP (@P2) t.seen_at
    FROM {runners} AS t WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE t.seen_at < DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
    ORDER BY t.node, t.incarnation, t.kind, t.name
) AS r
