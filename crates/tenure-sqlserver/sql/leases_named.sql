-- Leases as they are, without holding a lock.
-- 1 names
SELECT {lease_columns} FROM {leases} AS l WHERE l.name IN (SELECT asked.name FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked)
