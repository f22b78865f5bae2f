-- $1 numbers
UPDATE {outbox_pending} FORCE INDEX (PRIMARY) SET queued = 2, attempts = attempts + 1 WHERE id IN ($1)
