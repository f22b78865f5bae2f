-- Holds rows: whoever changes what becomes of a message holds its row first. By number (LOOP JOIN), so that no other is touched.
-- 1 numbers
SELECT o.id, o.queued, o.attempts, CASE WHEN o.lane IS NULL THEN NULL WHEN o.lane = 0x THEN 0 ELSE 1 END AS ordered
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON o.id = asked.id
ORDER BY o.id
