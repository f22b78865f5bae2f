-- How far a subscription has come; no row when it has never moved.
-- $1 name
SELECT position FROM {checkpoints} WHERE name = $1
