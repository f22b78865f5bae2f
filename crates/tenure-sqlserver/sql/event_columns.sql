e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, e.correlation, e.causation, e.headers,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', e.recorded_at) AS recorded_us, e.payload, e.payload_bytes
