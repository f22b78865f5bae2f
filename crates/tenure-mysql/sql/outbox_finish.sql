-- Takes messages out of the queue, if so many attempts were made before this one.
-- $1 numbers, $2 attempts
UPDATE {outbox} FORCE INDEX (PRIMARY)
SET queued = 0, attempts = attempts + 1
WHERE id IN ($1) AND queued = 1 AND attempts = $2
