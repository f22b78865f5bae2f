-- $1 names
DELETE FROM {assignments} WHERE daemon IN ($1)
