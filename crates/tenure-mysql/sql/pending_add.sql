-- Puts messages into the queue that the statement before has inserted, in that order. Their numbers are those that it was given,
-- which follow one another; they are found by them and by nothing else, because at REPEATABLE READ what is read for an insert is
-- locked, and only so no gaps are, in which others insert. One that is not found fails the statement, in whatever mode. What is
-- left in the queue of a message that had the same number, and was removed by another hand, is written over.
-- $1 ids
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
SELECT CASE WHEN o.id IS NULL THEN asked.k + 9223372036854775807 ELSE o.id END,
       {pending_lane_fragment}, {pending_place_fragment}, {pending_index_fragment}, {outbox_due_fragment}
FROM JSON_TABLE(
    JSON_ARRAY($1), '$[*]' COLUMNS (
        k FOR ORDINALITY, message_id varchar(64) CHARACTER SET ascii COLLATE ascii_general_ci PATH '$'
    )
) AS asked
LEFT JOIN {outbox} AS o FORCE INDEX (PRIMARY)
    ON o.id = LAST_INSERT_ID() + (asked.k - 1) * @@auto_increment_increment AND o.message_id = asked.message_id
ON DUPLICATE KEY UPDATE
    lane = VALUES(lane), place_a = VALUES(place_a), place_b = VALUES(place_b), queued = 1, due_us = VALUES(due_us),
    attempts = 0, forgiven = 0
