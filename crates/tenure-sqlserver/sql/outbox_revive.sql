-- Dead messages are pending again, in their old places; all their attempts are forgiven.
-- 1 numbers
UPDATE o SET queued = 1, next_at = @now, forgiven = o.attempts FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
