-- What messages say that are there already.
-- $1 ids
SELECT message_id::text AS message_id, source, source_seq, source_index::bigint AS source_index, topic, type, payload,
       payload_bytes, content_type, headers
FROM {outbox}
WHERE message_id = ANY ($1::text[]::uuid[])
