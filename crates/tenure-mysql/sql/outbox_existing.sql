-- What is there under these ids: a locking read, which sees what is committed now, whatever snapshot the transaction has.
-- $1 ids
SELECT message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers
FROM {outbox} FORCE INDEX (message_id)
WHERE message_id IN ($1)
LOCK IN SHARE MODE
