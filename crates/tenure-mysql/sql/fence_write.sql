-- Writes whole rows. Whoever calls this holds those that are there.
-- $1 rows: name, term, whether the lease is held
INSERT INTO {fences} (name, term, open) VALUES $1
ON DUPLICATE KEY UPDATE term = VALUES(term), open = VALUES(open)
