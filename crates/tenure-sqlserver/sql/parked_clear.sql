-- Makes room for events that are put aside again.
-- 1 subscription, 2 positions
DELETE p FROM OPENJSON(@P2) WITH (position bigint '$') AS asked
INNER LOOP JOIN {parked} AS p WITH (ROWLOCK) ON p.subscription = @B1 AND p.position = asked.position
