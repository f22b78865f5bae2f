-- Puts messages into the queue that the statement before has inserted, in that order: each in the lane and place where a relay would put it
-- that finds its row, due from now on or when it says.
-- What is left in the queue of a message that had the same number, and was removed by another hand, is written over.
-- $1 rows of number, lane, the two parts of the place, and when it is due; see given_fragment, soon_fragment
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us) VALUES $1
ON DUPLICATE KEY UPDATE
    lane = VALUES(lane), place_a = VALUES(place_a), place_b = VALUES(place_b), queued = 1, due_us = VALUES(due_us),
    attempts = 0, forgiven = 0
