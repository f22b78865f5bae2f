-- What there is when an append was not written: the stream's version, the mark, and the events that have one of its ids
-- where they would have come to stand. The first row has all that is not about an event.
-- $1 stream, $2 ids, $3 the version that was expected or null for any, $4 consumer or null, $5 message
SELECT now.version AS actual,
       CASE WHEN i.consumer IS NULL THEN 0 ELSE 1 END::bigint AS seen, i.fingerprint::text AS fingerprint, i.refused,
       e.position, e.stream, e.version, e.event_id::text AS event_id, e.type, e.payload, e.payload_bytes
FROM (SELECT coalesce((SELECT version FROM {streams} WHERE stream = $1), 0) AS version) AS now
LEFT JOIN {inbox} AS i ON i.consumer = $4 AND i.message_id = $5::text::uuid
LEFT JOIN LATERAL (
    SELECT position, stream, version, event_id, type, payload, payload_bytes
    FROM {events}
    WHERE $3::bigint IS NOT NULL AND stream = $1 AND version > $3 AND version <= $3 + cardinality($2::text[])
      AND event_id = ANY ($2::text[]::uuid[])
    UNION ALL
    SELECT position, stream, version, event_id, type, payload, payload_bytes
    FROM {events}
    WHERE $3::bigint IS NULL AND any_version AND event_id = ANY ($2::text[]::uuid[])
) AS e ON true
ORDER BY e.version
