-- Holds messages, and their rows on the list and in lanes: whoever else than a relay decides what becomes of a message holds its row
-- first. What is in neither is finished, or fresh. By number (LOOP JOIN), so that no other is touched, and the list before lanes, as
-- everyone does who lays.
-- 1 numbers
SELECT o.id,
       CASE WHEN n.id IS NOT NULL THEN 5 WHEN p.id IS NOT NULL THEN p.queued WHEN o.fresh IS NOT NULL THEN 3 ELSE 0 END AS queued,
       CASE WHEN n.id IS NOT NULL THEN 0 ELSE p.attempts END AS attempts,
       CASE
           WHEN n.id IS NOT NULL THEN CASE WHEN {pending_lane_fragment} = 0x THEN 0 ELSE 1 END
           WHEN p.lane IS NULL THEN NULL WHEN p.lane = 0x THEN 0 ELSE 1
       END AS ordered
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON o.id = asked.id
LEFT LOOP JOIN {outbox_arrivals} AS n WITH (UPDLOCK, ROWLOCK) ON n.id = o.id
LEFT LOOP JOIN {outbox_pending} AS p WITH (UPDLOCK, ROWLOCK) ON p.id = o.id
ORDER BY o.id
