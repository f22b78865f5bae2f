-- Makes room for events that are put aside again.
-- 1 subscription, 2 positions
DELETE FROM {parked} WITH (ROWLOCK)
WHERE subscription = @B1 AND position IN (SELECT asked.position FROM OPENJSON(@P2) WITH (position bigint '$') AS asked)
