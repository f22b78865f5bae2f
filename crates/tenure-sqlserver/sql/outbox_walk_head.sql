-- The head of the source that the walk has come to; nothing when there are no more.
SELECT TOP (1) o.lane, o.queued, {outbox_due_fragment} AS due_us, o.id
FROM {outbox} AS o WITH (INDEX (queue))
WHERE o.lane = @walk_lane
ORDER BY o.lane, o.place_a, o.place_b, o.id
