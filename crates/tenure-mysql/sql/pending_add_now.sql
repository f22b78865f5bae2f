-- The same of one that has a source and is to go at once, as most are: each function that the server has to resolve is felt.
-- $1 source, $2 sequence, $3 index
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
VALUES (LAST_INSERT_ID(), $1, $2, $3, {soon_fragment})
ON DUPLICATE KEY UPDATE
    lane = VALUES(lane), place_a = VALUES(place_a), place_b = VALUES(place_b), queued = 1, due_us = VALUES(due_us),
    attempts = 0, forgiven = 0
