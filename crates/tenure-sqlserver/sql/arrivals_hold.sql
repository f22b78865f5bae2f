-- Holds some of what has just come, in the order of its numbers. They are committed: whoever holds one of them is about to remove it.
-- 1 numbers
SELECT a.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_arrivals} AS a WITH (UPDLOCK, ROWLOCK) ON a.id = asked.id
ORDER BY a.id
