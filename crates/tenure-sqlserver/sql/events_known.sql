-- The events that have one of these ids, of appends that expected no version, as it is now.
-- 1 ids
SELECT e.position, e.stream, e.version, e.event_id, e.type, e.payload, e.payload_bytes
FROM {events} AS e WITH (READCOMMITTEDLOCK, ROWLOCK)
WHERE e.any_id IN (SELECT asked.id COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@P1) WITH (id nvarchar(36) '$') AS asked)
ORDER BY e.version
