-- Keeps a snapshot, unless there is one of a later version. The look holds the place of the name, so that two never insert it.
-- 1 stream, 2 version, 3 type, 4 schema, 5 payload as text, 6 payload as bytes
INSERT INTO {snapshots} (stream, version, type, schema_version, payload, payload_bytes, taken_at)
SELECT @B1, @P2, @P3, @P4, @P5, @B6, @now
WHERE NOT EXISTS (SELECT 1 FROM {snapshots} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE stream = @B1);
UPDATE {snapshots} WITH (ROWLOCK)
SET version = @P2, type = @P3, schema_version = @P4, payload = @P5, payload_bytes = @B6, taken_at = @now
WHERE stream = @B1 AND version <= @P2
