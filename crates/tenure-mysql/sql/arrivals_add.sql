-- Puts messages on the list that the statement before has inserted. What is left there of a message that had the same number is as
-- good.
-- $1 rows of a number each; see given_fragment
INSERT INTO {outbox_arrivals} (id) VALUES $1 ON DUPLICATE KEY UPDATE id = VALUES(id)
