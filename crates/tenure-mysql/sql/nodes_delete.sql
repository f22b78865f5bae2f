-- $1 names
DELETE FROM {nodes} WHERE name IN ($1)
