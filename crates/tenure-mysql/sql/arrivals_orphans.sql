-- The same of what is on the list of what has just come.
-- $1 numbers
SELECT a.id
FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
LEFT JOIN {outbox} AS o FORCE INDEX (PRIMARY) ON o.id = a.id
WHERE a.id IN ($1) AND a.listed = 1 AND o.id IS NULL
FOR UPDATE
