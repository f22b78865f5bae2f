-- 1 numbers
DELETE FROM {outbox} WITH (ROWLOCK) WHERE id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
