-- Leaves a message to a relay, which puts it into the queue: its sender could not.
-- $1 number
UPDATE {outbox} FORCE INDEX (PRIMARY) SET fresh = 1 WHERE id = $1
