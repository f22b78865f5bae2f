-- The first events of a stream. Fails where there is one already.
-- $1 stream, $2 how many events
INSERT INTO {streams} (stream, version) VALUES ($1, $2)
