-- Holds the fences that can be had at once, and names them. One that cannot be had is in use: a transaction under it is open, and
-- may stay so for long. XLOCK, because a fence that is shared must count as in use; by the index (LOOP JOIN), so that no other
-- row is touched; READCOMMITTEDLOCK, because rows are passed over only where they are read with locks.
-- 1 names
SELECT f.name, f.term
FROM OPENJSON(@B1) WITH (name varbinary(200) '$') AS asked
INNER LOOP JOIN {fences} AS f WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON f.name = asked.name
ORDER BY f.name
