select version, type, schema_version, payload, payload_bytes from {snapshots} where stream = ?1
