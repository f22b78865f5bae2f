-- The same of what is on the list of what has just come.
-- 1 numbers
SELECT a.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_arrivals} AS a WITH (UPDLOCK, ROWLOCK) ON a.id = asked.id
LEFT LOOP JOIN {outbox} AS o WITH (READCOMMITTEDLOCK) ON o.id = a.id
WHERE o.id IS NULL
