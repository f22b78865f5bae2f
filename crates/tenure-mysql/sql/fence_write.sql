-- Whoever calls this holds the row.
-- $1 name, $2 term, $3 whether the lease is held
UPDATE {fences} SET term = $2, open = $3 WHERE name = $1
