-- $1 rows, the oldest first
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at) VALUES $1
