-- $1 names
DELETE FROM {nodes} WHERE name = ANY ($1)
