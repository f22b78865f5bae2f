-- $1 rows of what the columns say
INSERT INTO {events} (
    stream, version, event_id, any_id, type, schema_version, message_id, correlation, causation, headers, payload, payload_bytes
) VALUES $1
