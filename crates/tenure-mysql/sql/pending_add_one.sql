-- Puts the message into the queue that the statement before has inserted: where pending_add puts one of several. What is left in the
-- queue of a message that had the same number, and was removed by another hand, is written over.
-- $1 source, or nothing; $2 sequence, or null without a source; $3 index; $4 when to deliver, or null
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
VALUES (
    LAST_INSERT_ID(), $1,
    coalesce($2, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', coalesce($4, UTC_TIMESTAMP(6)))), $3,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', coalesce($4, UTC_TIMESTAMP(6)))
)
ON DUPLICATE KEY UPDATE
    lane = VALUES(lane), place_a = VALUES(place_a), place_b = VALUES(place_b), queued = 1, due_us = VALUES(due_us),
    attempts = 0, forgiven = 0
