-- The head of the next source, kept aside: who comes first behind a source is the head of another one. Into other variables than
-- the one that it is found by: MariaDB would not take that one for a constant, and read all.
SELECT p.lane, p.queued, p.due_us, p.id
INTO @tenure_next, @tenure_queued, @tenure_due, @tenure_id
FROM {outbox_pending} AS p FORCE INDEX (queue)
WHERE p.lane > @tenure_lane
ORDER BY p.lane, p.place_a, p.place_b, p.id
LIMIT 1
