-- Holds rows, in the order of their numbers: whoever changes what becomes of a message holds its row first.
-- $1 numbers
SELECT id, queued, attempts, lane <> X'' AS ordered
FROM {outbox} FORCE INDEX (PRIMARY)
WHERE id IN ($1)
ORDER BY id
FOR UPDATE
