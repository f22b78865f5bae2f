-- Keeps a snapshot, unless there is one of a later version.
-- $1 stream, $2 version, $3 type, $4 schema, $5 payload as text, $6 payload as bytes
INSERT INTO {snapshots} AS s (stream, version, type, schema_version, payload, payload_bytes, taken_at)
VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
ON CONFLICT (stream) DO UPDATE SET
    version = excluded.version, type = excluded.type, schema_version = excluded.schema_version,
    payload = excluded.payload, payload_bytes = excluded.payload_bytes, taken_at = excluded.taken_at
WHERE s.version <= excluded.version
