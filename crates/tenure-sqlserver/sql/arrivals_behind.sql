-- The first numbers of what has just come. Only they: whoever asks holds nearly all of them.
-- 1 up to which number, 2 how many
SELECT TOP (@P2) id FROM {outbox_arrivals} WHERE id <= @P1 ORDER BY id
