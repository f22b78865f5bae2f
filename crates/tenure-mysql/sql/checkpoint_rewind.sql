-- Moves a checkpoint to any place, and counts that.
-- $1 name, $2 to
INSERT INTO {checkpoints} (name, position, moved_at, rewinds) VALUES ($1, $2, UTC_TIMESTAMP(6), 1)
ON DUPLICATE KEY UPDATE position = $2, moved_at = UTC_TIMESTAMP(6), rewinds = rewinds + 1
