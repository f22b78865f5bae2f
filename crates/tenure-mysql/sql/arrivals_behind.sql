-- The first numbers of what has just come. Only they: whoever asks holds nearly all of them.
-- $1 up to which number, $2 how many
SELECT id FROM {outbox_arrivals} FORCE INDEX (PRIMARY) WHERE id <= $1 ORDER BY id LIMIT $2
