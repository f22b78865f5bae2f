-- Leases as they are, without holding a lock.
-- 1 names
SELECT {lease_columns} FROM (SELECT DISTINCT name FROM OPENJSON(@B1) WITH (name varbinary(200) '$')) AS asked
INNER LOOP JOIN {leases} AS l ON l.name = asked.name
