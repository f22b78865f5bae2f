-- Whoever calls this holds the row.
-- 1 name, 2 to
UPDATE {checkpoints} WITH (ROWLOCK) SET position = @P2, moved_at = @now WHERE name = @B1
