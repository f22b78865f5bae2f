-- An attempt each for a run of numbers that are on the list, and are about to be taken off it.
-- $1 $2 the first and the last number, $3 outcome, $4 how long each took, $5 node, $6 term
INSERT INTO {outbox_attempts} (message, number, outcome, took_us, node, term)
SELECT a.id, 1, $3, $4, $5, $6
FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
WHERE a.id BETWEEN $1 AND $2
ON DUPLICATE KEY UPDATE took_us = {outbox_attempts}.took_us
