-- The events that stand where those of an append would have come to stand, as it is now.
-- $1 stream, $2 after which version, $3 up to which
SELECT position, stream, version, event_id, type, payload, payload_bytes
FROM {events} FORCE INDEX (stream_version)
WHERE stream = $1 AND version > $2 AND version <= $3
ORDER BY version
LOCK IN SHARE MODE
