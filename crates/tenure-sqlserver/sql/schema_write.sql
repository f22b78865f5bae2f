-- Also stands in the script for a DBA: no `@now` here.
-- 1 version, 2 description
INSERT INTO {schema} (version, description, applied_at) VALUES (@P1, @P2, SYSUTCDATETIME())
