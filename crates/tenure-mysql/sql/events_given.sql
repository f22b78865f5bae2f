-- The positions of the last events of streams. Each is found by its key, and nothing else is looked at.
-- $1 rows of stream and version
SELECT stream, position FROM {events} FORCE INDEX (stream_version) WHERE (stream, version) IN ($1)
