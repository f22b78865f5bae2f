-- The same of a message that is not in the queue yet: only where it stands. Nothing behind it in its source may go.
o.id, {pending_lane_fragment} AS lane, 3 AS queued, 0 AS due_us, 0 AS attempts, 0 AS forgiven,
N'' COLLATE Latin1_General_100_CI_AS AS message_id,
CASE WHEN DATALENGTH(o.source) <= 1000 THEN o.source END AS source,
o.source_seq, o.source_index, N'' COLLATE Latin1_General_100_BIN2 AS topic, N'' COLLATE Latin1_General_100_BIN2 AS type,
CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS content_type, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS headers,
0 AS created_us, 0 AS shape, CAST(NULL AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 AS payload, CAST(NULL AS varbinary(max)) AS payload_bytes
