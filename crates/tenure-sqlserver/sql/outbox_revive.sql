-- Dead messages are pending again, in their old places; all their attempts are forgiven.
-- 1 numbers
UPDATE {outbox} WITH (ROWLOCK) SET queued = 1, next_at = @now, forgiven = attempts WHERE id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
