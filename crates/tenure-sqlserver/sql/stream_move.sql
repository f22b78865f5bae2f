-- Moves a stream that has the version that is expected: whoever else writes to it waits here, and finds it moved.
-- 1 stream, 2 its version, 3 how many events
UPDATE {streams} WITH (ROWLOCK) SET version = version + @P3 WHERE stream = @B1 AND version = @P2
