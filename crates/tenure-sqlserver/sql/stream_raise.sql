-- Moves a stream whatever its version is. The look holds the place of the name, so that two never insert it.
-- 1 stream, 2 how many events
INSERT INTO {streams} (stream, version)
SELECT @B1, 0
WHERE NOT EXISTS (SELECT 1 FROM {streams} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1);
UPDATE {streams} WITH (ROWLOCK) SET version = version + @P2 WHERE stream = @B1
