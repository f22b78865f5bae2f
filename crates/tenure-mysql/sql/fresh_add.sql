-- Puts them into the queue. One that is there already, by whatever hand, stays as it is.
-- $1 numbers
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
SELECT o.id, {pending_lane_fragment}, {pending_place_fragment}, {pending_index_fragment}, {outbox_due_fragment}
FROM {outbox} AS o FORCE INDEX (PRIMARY)
WHERE o.id IN ($1)
ON DUPLICATE KEY UPDATE forgiven = {outbox_pending}.forgiven
