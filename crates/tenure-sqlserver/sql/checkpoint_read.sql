-- How far a subscription has come, and how often an operator has moved it; no row when it has never moved.
-- 1 name
SELECT position, rewinds FROM {checkpoints} WHERE name = @B1
