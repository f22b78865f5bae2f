-- Not over one of a later version.
insert into {snapshots} (stream, version, type, schema_version, taken_at, payload, payload_bytes)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (stream) do update
set version = excluded.version, type = excluded.type, schema_version = excluded.schema_version,
    taken_at = excluded.taken_at, payload = excluded.payload, payload_bytes = excluded.payload_bytes
where excluded.version >= {snapshots}.version
