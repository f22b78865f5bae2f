-- Takes messages out of the queue, if so many attempts were made before this one.
-- 1 numbers, 2 attempts
DELETE p FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (ROWLOCK) ON p.id = asked.id
WHERE p.queued = 1 AND p.attempts = @P2
