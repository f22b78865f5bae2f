-- $1 names of tables, $2 the database or null for the connection's own
SELECT table_name AS name FROM information_schema.tables
WHERE table_schema = coalesce($2, DATABASE()) AND table_name IN ($1)
