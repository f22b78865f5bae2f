-- What is there under these ids, as it is now: with locks, whatever snapshot the transaction has.
-- 1 ids
SELECT o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.payload, o.payload_bytes, o.content_type,
       o.headers
FROM OPENJSON(@P1) WITH (id nvarchar(64) '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (REPEATABLEREAD, ROWLOCK) ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
