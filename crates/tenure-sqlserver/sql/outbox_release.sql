-- Sources go on that stood still behind these.
-- 1 numbers
UPDATE {outbox} WITH (ROWLOCK) SET queued = 0 WHERE queued = 2 AND id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
