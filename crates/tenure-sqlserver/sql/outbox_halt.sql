-- 1 numbers
UPDATE {outbox} WITH (ROWLOCK) SET queued = 2, attempts = attempts + 1 WHERE id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
