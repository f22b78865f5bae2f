-- Dead messages are pending again, in their old places; all their attempts are forgiven. One that its source stands still behind
-- is in the queue already.
-- $1 numbers
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, queued, due_us, attempts, forgiven)
SELECT o.id, {pending_lane_fragment},
       CASE WHEN octet_length(o.source) BETWEEN 1 AND 500 THEN o.source_seq ELSE clock.now_us END,
       {pending_index_fragment}, 1, clock.now_us, d.attempts, d.attempts
FROM (SELECT {now_fragment}) AS clock
STRAIGHT_JOIN {outbox_dead} AS d FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {outbox} AS o ON o.id = d.id
WHERE d.id IN ($1)
ON DUPLICATE KEY UPDATE
    queued = 1, due_us = VALUES(due_us), place_a = VALUES(place_a), forgiven = {outbox_pending}.attempts
