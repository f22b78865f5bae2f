-- All rows or none: an id that is there already, or twice among them, is said by a row and not by an error, which may undo the
-- whole transaction. The look holds the places of all ids, so of two that find none the second waits for the first.
-- 1 rows of id, source, sequence, index, topic, type, payload as text or bytes, content type, headers, when to deliver, and
-- 1 if a relay is to put it into the queue, else null
IF EXISTS (
    SELECT 1
    FROM OPENJSON(@P1) WITH (message_id nvarchar(64) '$.v[0]') AS r
    INNER LOOP JOIN {outbox} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) ON t.message_id = r.message_id COLLATE Latin1_General_100_CI_AS
) OR EXISTS (
    SELECT 1 FROM OPENJSON(@P1) WITH (message_id nvarchar(64) '$.v[0]') AS r
    GROUP BY r.message_id COLLATE Latin1_General_100_CI_AS HAVING COUNT(*) > 1
)
BEGIN
    SELECT 1 AS tenure_duplicate;
    RETURN;
END;
INSERT INTO {outbox} (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, deliver_at,
    fresh
)
SELECT r.message_id, r.source, r.source_seq, r.source_index, r.topic, r.type, r.payload, r.payload_bytes, r.content_type,
       r.headers, r.deliver_at, r.fresh
FROM OPENJSON(@P1) WITH (
    i int '$.i', message_id nvarchar(64) '$.v[0]', source nvarchar(max) '$.v[1]', source_seq bigint '$.v[2]',
    source_index int '$.v[3]', topic nvarchar(max) '$.v[4]', type nvarchar(max) '$.v[5]', payload nvarchar(max) '$.v[6]',
    payload_bytes varbinary(max) '$.v[7]', content_type nvarchar(max) '$.v[8]', headers nvarchar(max) '$.v[9]',
    deliver_at datetime2(6) '$.v[10]', fresh tinyint '$.v[11]'
) AS r
ORDER BY r.i
