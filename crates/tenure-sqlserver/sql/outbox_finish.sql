-- Takes messages out of the queue, if so many attempts were made before this one.
-- 1 numbers, 2 attempts
UPDATE o SET queued = 0, attempts = o.attempts + 1 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
WHERE o.queued = 1 AND o.attempts = @P2
