-- The head of the source that the walk has come to; nothing when there are no more.
SELECT p.lane, p.queued, p.due_us, p.id
FROM {outbox_pending} AS p FORCE INDEX (queue)
WHERE p.lane = @tenure_lane
ORDER BY p.lane, p.place_a, p.place_b, p.id
LIMIT 1
