-- A walk from source to source begins here: each step (find, move, head) goes on from where the one before it ended.
-- $1 after which source
SET @tenure_lane = $1
