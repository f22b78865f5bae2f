-- $1 names
DELETE FROM {assignments} WHERE daemon = ANY ($1)
