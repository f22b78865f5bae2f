-- The next cause of which there are dead messages: one step in the index, however many there are of it.
-- 1 after which cause
SELECT TOP (1) cause
FROM {outbox_dead} WITH (INDEX (cause))
WHERE discarded_at IS NULL AND cause > @P1
ORDER BY cause
