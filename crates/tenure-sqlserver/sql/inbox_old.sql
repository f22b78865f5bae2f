-- Notes that are old enough to be forgotten, the oldest first. What others have under way is passed over.
-- 1 how long a note is kept, in microseconds, 2 how many
SELECT TOP (@P2) consumer, message_id FROM {inbox} WITH (READPAST, READCOMMITTEDLOCK)
WHERE accepted_at <= DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
ORDER BY accepted_at
