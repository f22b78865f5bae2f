-- The first numbers of what has just come after one.
-- $1 after which number, $2 how many
SELECT id FROM {outbox_arrivals} FORCE INDEX (PRIMARY) WHERE id > $1 ORDER BY id LIMIT $2
