-- Leaves a message to a relay, which puts it into the queue: its sender could not.
-- 1 number
UPDATE o SET fresh = 1 FROM {outbox} AS o WITH (ROWLOCK) WHERE o.id = @P1
