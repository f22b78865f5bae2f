-- 1 stream
SELECT version, type, schema_version, payload, payload_bytes FROM {snapshots} WHERE stream = @B1
