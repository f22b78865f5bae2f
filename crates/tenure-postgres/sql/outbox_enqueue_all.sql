-- Inserts messages unless their ids are there already. Answers with all ids in the order given, and which are new.
-- $1 to $11 as lists of what outbox_enqueue.sql takes
WITH given AS MATERIALIZED (
    SELECT coalesce(g.id::uuid, gen_random_uuid()) AS message_id, g.*
    FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[],
        $10::text[], $11::bigint[]
    ) WITH ORDINALITY AS g (
        id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, delay_us, place
    )
), fresh AS (
    INSERT INTO {outbox} (
        message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers,
        deliver_at
    )
    SELECT message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers,
           CASE WHEN delay_us > 0 THEN clock_timestamp() + delay_us * interval '1 microsecond' END
    FROM given
    ORDER BY place
    ON CONFLICT (message_id) DO NOTHING
    RETURNING message_id
)
SELECT g.message_id::text AS message_id, g.message_id IN (SELECT f.message_id FROM fresh AS f) AS fresh
FROM given AS g
ORDER BY g.place
