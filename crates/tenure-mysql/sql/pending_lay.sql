-- Puts messages into their lanes that are fresh, or on the list of what has just come. What is left there of a message that had the
-- same number, and was removed by another hand, is written over: these have no row there.
-- $1 numbers
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
SELECT o.id, {pending_lane_fragment}, {pending_place_fragment}, {pending_index_fragment}, {outbox_due_fragment}
FROM {outbox} AS o FORCE INDEX (PRIMARY)
WHERE o.id IN ($1)
ON DUPLICATE KEY UPDATE
    lane = VALUES(lane), place_a = VALUES(place_a), place_b = VALUES(place_b), queued = 1, due_us = VALUES(due_us),
    attempts = 0, forgiven = 0
