insert into {events} (
    stream, version, event_id, type, schema_version, message_id, correlation, causation, headers, recorded_at, any_version,
    payload, payload_bytes
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
