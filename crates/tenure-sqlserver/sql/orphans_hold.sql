-- Holds rows of the queue whose messages were deleted by another hand. Whoever inserts a message under such a number meanwhile
-- waits here with its own row of the queue, and is not undone.
-- 1 numbers
SELECT p.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (UPDLOCK, ROWLOCK) ON p.id = asked.id
LEFT LOOP JOIN {outbox} AS o WITH (READCOMMITTEDLOCK) ON o.id = p.id
LEFT LOOP JOIN {outbox_arrivals} AS n WITH (READCOMMITTEDLOCK) ON n.id = p.id
WHERE o.id IS NULL OR n.id IS NOT NULL
