-- The fences that there are, whoever holds them.
-- $1 names
SELECT name FROM {fences} WHERE name IN ($1)
