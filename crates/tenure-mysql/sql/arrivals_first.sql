-- The first numbers of what has just come.
-- $1 how many
SELECT id FROM {outbox_arrivals} FORCE INDEX (PRIMARY) ORDER BY id LIMIT $1
