-- The events that stand where those of an append would have come to stand, as it is now.
-- 1 stream, 2 after which version, 3 up to which
SELECT position, stream, version, event_id, type, payload, payload_bytes
FROM {events} WITH (READCOMMITTEDLOCK, ROWLOCK)
WHERE stream = @B1 AND version > @P2 AND version <= @P3
ORDER BY version
