-- Moves a stream whatever its version is.
-- $1 stream, $2 how many events
INSERT INTO {streams} (stream, version) VALUES ($1, $2) ON DUPLICATE KEY UPDATE version = version + $2
