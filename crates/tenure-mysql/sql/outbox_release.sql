-- Sources go on that stood still behind these.
-- $1 numbers
UPDATE {outbox} FORCE INDEX (PRIMARY) SET queued = 0 WHERE id IN ($1) AND queued = 2
