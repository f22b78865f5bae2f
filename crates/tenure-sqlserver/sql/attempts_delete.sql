-- 1 messages
DELETE FROM {outbox_attempts} WITH (ROWLOCK) WHERE message IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
