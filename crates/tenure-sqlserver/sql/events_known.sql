-- The events that have one of these ids, of appends that expected no version, as it is now.
-- 1 ids
SELECT e.position, e.stream, e.version, e.event_id, e.type, e.payload, e.payload_bytes
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id nvarchar(36) '$')) AS asked
INNER LOOP JOIN {events} AS e WITH (READCOMMITTEDLOCK, ROWLOCK)
    ON e.any_id = asked.id COLLATE Latin1_General_100_BIN2 AND e.any_id IS NOT NULL
ORDER BY e.version
