-- The same of a message that is not in the queue yet: only where it stands. Nothing behind it in its source may go.
o.id, {pending_lane_fragment} AS lane, 3 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven, '' AS message_id,
CASE WHEN octet_length(o.source) <= 500 THEN o.source END AS source,
o.source_seq, o.source_index, '' AS topic, '' AS type, NULL AS content_type, NULL AS headers, 0 AS created_us, 0 AS shape,
NULL AS payload, NULL AS payload_bytes
