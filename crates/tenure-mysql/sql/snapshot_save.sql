-- Keeps a snapshot, unless there is one of a later version. What is set is set from left to right: the version last.
-- $1 stream, $2 version, $3 type, $4 schema, $5 payload as text, $6 payload as bytes
INSERT INTO {snapshots} (stream, version, type, schema_version, payload, payload_bytes, taken_at)
VALUES ($1, $2, $3, $4, $5, $6, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    type = IF(version <= $2, $3, type),
    schema_version = IF(version <= $2, $4, schema_version),
    payload = IF(version <= $2, $5, payload),
    payload_bytes = IF(version <= $2, $6, payload_bytes),
    taken_at = IF(version <= $2, UTC_TIMESTAMP(6), taken_at),
    version = IF(version <= $2, $2, version)
