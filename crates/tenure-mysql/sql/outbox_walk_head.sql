-- The head of the source that the walk has come to; nothing when there are no more.
SELECT o.lane, o.queued, {outbox_due_fragment} AS due_us, o.id
FROM {outbox} AS o FORCE INDEX (queue)
WHERE o.lane = @tenure_lane
ORDER BY o.lane, o.place_a, o.place_b, o.id
LIMIT 1
