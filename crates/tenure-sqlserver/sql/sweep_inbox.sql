-- 1 how long a row is kept, in microseconds, 2 how many
WITH oldest AS (
    SELECT TOP (@P2) consumer, message_id FROM {inbox} WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE accepted_at <= DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
    ORDER BY accepted_at
)
DELETE FROM oldest
