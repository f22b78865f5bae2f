-- The head of the source that the walk has come to; nothing when there are no more.
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM {outbox_pending} AS p WITH (INDEX (queue))
WHERE p.lane = @walk_lane
ORDER BY p.lane, p.place_a, p.place_b, p.id
