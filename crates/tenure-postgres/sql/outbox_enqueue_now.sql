-- The same as outbox_enqueue.sql for a message that has its id and is not held back: most are so, and the server reads and
-- plans less. Whether it is new is told by the number of rows.
-- $1 id, $2 source, $3 $4 sequence, $5 topic, $6 type, $7 payload as text, $8 payload as bytes, $9 content type, $10 headers
INSERT INTO {outbox} (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers
) VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (message_id) DO NOTHING
