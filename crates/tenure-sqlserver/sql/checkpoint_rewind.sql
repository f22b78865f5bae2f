-- Moves a checkpoint to any place, and counts that. The look holds the place of the name, so that two never insert it.
-- 1 name, 2 to
INSERT INTO {checkpoints} (name, position, moved_at, rewinds)
SELECT @B1, 0, @now, 0
WHERE NOT EXISTS (SELECT 1 FROM {checkpoints} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1);
UPDATE {checkpoints} WITH (ROWLOCK) SET position = @P2, moved_at = @now, rewinds = rewinds + 1 WHERE name = @B1
