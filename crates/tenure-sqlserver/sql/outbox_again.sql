-- 1 number, 2 after how many microseconds
UPDATE {outbox} WITH (ROWLOCK)
SET attempts = attempts + 1,
    next_at = DATEADD(MICROSECOND, CAST(@P2 % 60000000 AS int), DATEADD(MINUTE, CAST(@P2 / 60000000 AS int), @now))
WHERE id = @P1
