-- Whoever calls this holds the row.
-- 1 name, 2 term, 3 whether the lease is held
UPDATE {fences} WITH (ROWLOCK) SET term = @P2, [open] = @P3 WHERE name = @B1
