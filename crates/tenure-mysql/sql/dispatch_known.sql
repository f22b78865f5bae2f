-- What messages say that are there already, as it is now.
-- $1 ids
SELECT message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers
FROM {outbox}
WHERE message_id IN ($1)
LOCK IN SHARE MODE
