-- Takes messages out of the queue, if so many attempts were made before this one. In the form of a deletion from several tables,
-- which alone can be told its index: by the other one, servers read a small table through, and wait for everyone who has a row
-- of it under way.
-- $1 numbers, $2 attempts
DELETE p FROM {outbox_pending} AS p FORCE INDEX (PRIMARY) WHERE p.id IN ($1) AND p.queued = 1 AND p.attempts = $2
