-- One branch of outbox_heads. The driver asks it once for each source.
-- 1 source
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM {outbox_pending} AS p WITH (INDEX (queue))
WHERE p.lane = @B1
ORDER BY p.lane, p.place_a, p.place_b, p.id
