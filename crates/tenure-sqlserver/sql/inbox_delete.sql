-- Forgets notes that are old enough still: one that was forgotten since may be there anew.
-- 1 consumer, 2 messages, 3 how long a note is kept, in microseconds
DELETE i FROM OPENJSON(@P2) WITH (id nvarchar(36) '$') AS asked
INNER LOOP JOIN {inbox} AS i WITH (ROWLOCK) ON i.message_id = asked.id COLLATE Latin1_General_100_BIN2
WHERE i.consumer = @B1
  AND i.accepted_at <= DATEADD(MICROSECOND, -CAST(@P3 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P3 / 60000000 AS int), @now))
