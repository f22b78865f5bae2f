-- The next cause of which there are dead messages: one step in the index, however many there are of it.
-- $1 after which cause
SELECT cause
FROM {outbox_dead} FORCE INDEX (cause)
WHERE discarded_at IS NULL AND cause > $1
ORDER BY cause
LIMIT 1
