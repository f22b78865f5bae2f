-- In the order of the rows, by which positions are given out.
-- 1 rows of what the columns say
INSERT INTO {events} (
    stream, version, event_id, any_id, type, schema_version, message_id, correlation, causation, headers, bytes, payload,
    payload_bytes
)
SELECT r.stream, r.version, r.event_id, r.any_id, r.type, r.schema_version, r.message_id, r.correlation, r.causation, r.headers,
       r.bytes, r.payload, r.payload_bytes
FROM OPENJSON(@P1) WITH (
    i int '$.i', stream varbinary(500) '$.b[0]', version bigint '$.v[1]', event_id nvarchar(36) '$.v[2]',
    any_id nvarchar(36) '$.v[3]', type nvarchar(250) '$.v[4]', schema_version int '$.v[5]', message_id nvarchar(36) '$.v[6]',
    correlation nvarchar(250) '$.v[7]', causation nvarchar(250) '$.v[8]', headers nvarchar(max) '$.v[9]', bytes int '$.v[10]',
    payload nvarchar(max) '$.v[11]', payload_bytes varbinary(max) '$.v[12]'
) AS r
ORDER BY r.i
