-- One that is there already, by whatever hand, stays, and holds up nothing.
-- $1 rows of message, number, outcome, how long it took, node, term, error
INSERT INTO {outbox_attempts} (message, number, outcome, took_us, node, term, error) VALUES $1
ON DUPLICATE KEY UPDATE took_us = took_us
