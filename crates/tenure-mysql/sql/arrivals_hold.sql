-- Holds some of what has just come, in the order of its numbers. They are committed: whoever holds one of them is about to remove it.
-- $1 numbers
SELECT id FROM {outbox_arrivals} FORCE INDEX (PRIMARY) WHERE id IN ($1) AND listed = 1 ORDER BY id FOR UPDATE
