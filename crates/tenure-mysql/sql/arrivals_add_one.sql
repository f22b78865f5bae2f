-- Puts the message on the list that the statement before has inserted. What is left there of a message that had the same number is
-- as good.
INSERT INTO {outbox_arrivals} (id) VALUES (LAST_INSERT_ID()) ON DUPLICATE KEY UPDATE id = VALUES(id)
