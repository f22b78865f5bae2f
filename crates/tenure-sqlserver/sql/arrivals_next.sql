-- The first numbers of what has just come after one.
-- 1 after which number, 2 how many
SELECT TOP (@P2) id FROM {outbox_arrivals} WHERE id > @P1 ORDER BY id
