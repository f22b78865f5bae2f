-- Holds the fence of a lease, and makes it where there is none: whoever has checked it is waited for. Writers of one name
-- queue up here even while there is no lease.
-- $1 name
INSERT INTO {fences} (name, term, open) VALUES ($1, 0, 0) ON DUPLICATE KEY UPDATE term = term
