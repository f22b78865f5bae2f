-- Puts messages on the list that are fresh. What is left there of a message that had the same number is as good.
-- $1 rows of a number each
INSERT INTO {outbox_arrivals} (id) VALUES $1 ON DUPLICATE KEY UPDATE id = VALUES(id)
