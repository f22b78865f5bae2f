-- $1 version, $2 description
INSERT INTO {schema} (version, description, applied_at) VALUES ($1, $2, UTC_TIMESTAMP(6))
