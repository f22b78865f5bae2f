-- In the order of the rows, by which positions are given out. The lock of a row, and none of a page: readers pass over it.
--
-- An id that is there already is said by a row and not by an error, which may undo the user's whole transaction. The look holds
-- the places of the ids, so of two that find none the second waits for the first. (Only an append that expects no version has
-- such ids. That no version of the stream is there twice is seen to by the stream's own row.)
-- 1 rows of what the columns say
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (any_id nvarchar(36) '$.v[3]') AS r
    INNER LOOP JOIN {events} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
        ON t.any_id = r.any_id COLLATE Latin1_General_100_BIN2 AND t.any_id IS NOT NULL
    WHERE r.any_id IS NOT NULL
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {events} WITH (ROWLOCK) (
    stream, version, event_id, any_id, type, schema_version, message_id, correlation, causation, headers, payload,
    payload_bytes
)
SELECT r.stream, r.version, r.event_id, r.any_id, r.type, r.schema_version, r.message_id, r.correlation, r.causation, r.headers,
       r.payload, r.payload_bytes
FROM OPENJSON(@P1) WITH (
    i int '$.i', stream varbinary(500) '$.b[0]', version bigint '$.v[1]', event_id nvarchar(36) '$.v[2]',
    any_id nvarchar(36) '$.v[3]', type nvarchar(250) '$.v[4]', schema_version int '$.v[5]', message_id nvarchar(36) '$.v[6]',
    correlation nvarchar(250) '$.v[7]', causation nvarchar(250) '$.v[8]', headers nvarchar(max) '$.v[9]',
    payload nvarchar(max) '$.v[10]', payload_bytes varbinary(max) '$.v[11]'
) AS r
ORDER BY r.i
