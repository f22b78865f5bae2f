-- Moves a stream that has the version that is expected: whoever else writes to it waits here, and finds it moved.
-- $1 stream, $2 its version, $3 how many events
UPDATE {streams} SET version = version + $3 WHERE stream = $1 AND version = $2
