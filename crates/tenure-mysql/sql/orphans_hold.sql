-- Holds rows of the queue whose messages were deleted by another hand. Whoever inserts a message under such a number meanwhile
-- waits here with its own row of the queue, and is not undone.
-- $1 numbers
SELECT p.id
FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
LEFT JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = p.id
LEFT JOIN {outbox_arrivals} AS n FORCE INDEX (PRIMARY) ON n.id = p.id
WHERE p.id IN ($1) AND (o.id IS NULL OR n.id IS NOT NULL)
FOR UPDATE
