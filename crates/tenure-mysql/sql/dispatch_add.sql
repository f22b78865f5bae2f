-- $1 rows of what the columns say
INSERT INTO {outbox} (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, deliver_at
) VALUES $1
