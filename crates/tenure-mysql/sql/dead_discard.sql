-- $1 numbers
UPDATE {outbox_dead} FORCE INDEX (PRIMARY) SET discarded_at = UTC_TIMESTAMP(6), halts = 0 WHERE id IN ($1)
