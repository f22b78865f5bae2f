-- Holds streams that are there, before streams_move. Fails at once where somebody else holds one of them.
-- $1 streams
SELECT stream, version FROM {streams} FORCE INDEX (PRIMARY) WHERE stream IN ($1) ORDER BY stream FOR UPDATE NOWAIT
