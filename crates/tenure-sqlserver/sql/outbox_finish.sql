-- Takes messages out of the queue, if so many attempts were made before this one.
-- 1 numbers, 2 attempts
UPDATE {outbox} WITH (ROWLOCK)
SET queued = 0, attempts = attempts + 1
WHERE queued = 1 AND attempts = @P2 AND id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
