-- Rows by number, as far as they are in the queue still; also one that its source stands still behind.
-- $1 numbers
SELECT {outbox_columns}
FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
LEFT JOIN {outbox} AS o ON o.id = p.id
LEFT JOIN {outbox_arrivals} AS n ON n.id = p.id
WHERE p.id IN ($1)
