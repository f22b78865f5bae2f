-- They are fresh no more.
-- $1 numbers
UPDATE {outbox} FORCE INDEX (PRIMARY) SET fresh = NULL WHERE id IN ($1)
