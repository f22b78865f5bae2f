-- What others write at this moment is passed over.
-- 1 for how many microseconds nobody has written them, 2 how many
DELETE TOP (@P2) FROM {runners} WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE seen_at < DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
