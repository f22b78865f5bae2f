-- 1 numbers
UPDATE {outbox_dead} WITH (ROWLOCK) SET discarded_at = @now, halts = 0 WHERE id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
