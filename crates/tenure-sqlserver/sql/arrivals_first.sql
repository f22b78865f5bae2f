-- The first numbers of what has just come.
-- 1 how many
SELECT TOP (@P1) id FROM {outbox_arrivals} ORDER BY id
