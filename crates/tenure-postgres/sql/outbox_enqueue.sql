-- Inserts one message unless its id is there already. Answers with its id if it is new, and with no row if it is not.
-- $1 id or null, $2 source, $3 $4 sequence, $5 topic, $6 type, $7 payload as text, $8 payload as bytes, $9 content type,
-- $10 headers as JSON, $11 delay in microseconds
INSERT INTO {outbox} (
    message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, deliver_at
) VALUES (
    coalesce($1::text::uuid, gen_random_uuid()), $2::text, $3::bigint, $4::integer, $5::text, $6::text, $7::text,
    $8::bytea, $9::text, $10::text,
    CASE WHEN $11::bigint > 0 THEN clock_timestamp() + $11::bigint * interval '1 microsecond' END
)
ON CONFLICT (message_id) DO NOTHING
RETURNING message_id::text AS message_id
