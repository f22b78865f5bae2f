select position, stream, version, event_id, type, schema_version, message_id, correlation, causation, headers,
       recorded_at as recorded_us, payload, payload_bytes
from {events}
