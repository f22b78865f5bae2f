-- Holds leases, each by its own row: a renewal that is under way was perhaps in time although it does not show yet. It is
-- waited for here, and shows in the next statement; from then on none comes through. Fences are left alone.
-- 1 names
SELECT l.name, l.term
FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN {leases} AS l WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON l.name = asked.name
ORDER BY l.name
