-- The events that have one of these ids, of appends that expected no version, as it is now.
-- $1 ids
SELECT position, stream, version, event_id, type, payload, payload_bytes
FROM {events} FORCE INDEX (any_id)
WHERE any_id IN ($1)
ORDER BY version
LOCK IN SHARE MODE
