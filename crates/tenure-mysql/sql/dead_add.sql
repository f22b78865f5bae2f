-- $1 rows of number, outcome, reason, attempts, whether its source stands still behind it, cause
INSERT INTO {outbox_dead} (id, outcome, reason, attempts, halts, cause) VALUES $1
