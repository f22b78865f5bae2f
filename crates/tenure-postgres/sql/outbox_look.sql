-- What is pending, by one snapshot. The first row tells the clock (created_at), where the rotation goes on (lane) and
-- what is due next (due_at); all others are messages, those of one source in their order.
--
-- A source's head is found together with the source, by one probe of the index: so a million rows behind a head that is
-- not due cost no more than one. Payloads are measured without being unpacked; what no message may have is cut short.
--
-- $1 sources, $2 $3 $4 after which place in each, $5 how many rows of each;
-- $6 after which source further ones are looked for, $7 how many of them, $8 how many rows of each, $9 which to leave out,
-- in order and all after $6;
-- $10 $11 after which moment and number rows without a source, $12 how many of them; $13 the largest payload to carry;
-- $14 what is after every source
--
-- What stands in curly braces and is no table is empty, but where only one part of the outbox is looked at (see
-- statements.rs): then $15 $16 which part of how many, $17 how many sources are visited at most, and $18 how many rows without
-- a source are stepped over at most.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), visit (source, due_at, at, visited, fresh{step}) AS (
    SELECT $6 COLLATE "C", NULL::timestamptz, 1, 0::bigint, false{step_first}
    WHERE $7 > 0
    UNION ALL
    -- From gap to gap between the sources that are left out: what of theirs was deleted lately is not walked over.
    SELECT coalesce(h.source, k.source), h.due_at, v.at + CASE WHEN h.source IS NULL THEN 1 ELSE 0 END,
           v.visited + CASE WHEN h.source IS NULL{foreign_head} THEN 0 ELSE 1 END, h.source IS NOT NULL{own_head}{step_next}
    FROM visit AS v
    CROSS JOIN LATERAL (SELECT $9[v.at] COLLATE "C" AS source) AS k
    LEFT JOIN LATERAL (
        SELECT p.source, p.due_at{own}
        FROM {outbox_pending} AS p
        WHERE p.source > v.source AND p.source < coalesce(k.source, $14)
        ORDER BY p.source, p.source_seq, p.source_index, p.id
        LIMIT 1
    ) AS h ON true
    WHERE v.visited < $7{step_bound} AND (h.source IS NOT NULL OR k.source IS NOT NULL)
){walk}, found AS (
    SELECT r.*
    FROM unnest($1, $2, $3, $4, $5) AS l (source, source_seq, source_index, id, rows)
    CROSS JOIN LATERAL (
        SELECT p.*
        FROM {outbox_pending} AS p
        WHERE p.source = l.source
          AND (p.source_seq, p.source_index, p.id) > (l.source_seq, l.source_index, l.id)
        ORDER BY p.source, p.source_seq, p.source_index, p.id
        LIMIT l.rows
    ) AS r{own_lane}
    UNION ALL
    SELECT r.*
    FROM visit AS v
    CROSS JOIN LATERAL (
        SELECT p.*
        FROM {outbox_pending} AS p
        WHERE p.source = v.source
        ORDER BY p.source, p.source_seq, p.source_index, p.id
        LIMIT $8
    ) AS r
    WHERE v.fresh AND v.due_at <= (SELECT now FROM clock)
    UNION ALL
    {unordered}
)
SELECT NULL::bigint AS id,
       (SELECT v.source FROM visit AS v WHERE v.visited >= $7 AND v.fresh{step_end}) AS lane,
       NULL::bigint AS source_seq, NULL::integer AS source_index,
       least(
           (SELECT min(v.due_at) FROM visit AS v WHERE v.fresh AND v.due_at > (SELECT now FROM clock)),
           (SELECT p.due_at FROM {outbox_pending} AS p
            WHERE p.source IS NULL AND p.due_at > (SELECT now FROM clock) AND $12 > 0{own_row}
            ORDER BY p.due_at, p.id LIMIT 1)
       ) AS due_at,
       NULL::integer AS attempts, NULL::integer AS forgiven, NULL::uuid AS message_id, NULL AS source,
       NULL AS topic, NULL AS type, NULL::integer AS shape, NULL AS payload, NULL::bytea AS payload_bytes,
       NULL AS content_type, NULL AS headers, (SELECT now FROM clock) AS created_at{walked}
UNION ALL
SELECT f.id, f.source, f.source_seq, f.source_index, f.due_at, f.attempts, f.forgiven, o.message_id,
       CASE WHEN octet_length(o.source) > 4000 THEN left(o.source, 1000) ELSE o.source END,
       CASE WHEN octet_length(o.topic) > 4000 THEN left(o.topic, 1000) ELSE o.topic END,
       CASE WHEN octet_length(o.type) > 4000 THEN left(o.type, 1000) ELSE o.type END,
       CASE WHEN o.payload IS NOT NULL THEN 1 ELSE 0 END
           + CASE WHEN o.payload_bytes IS NOT NULL THEN 2 ELSE 0 END
           + CASE WHEN octet_length(o.payload) > $13 OR octet_length(o.payload_bytes) > $13 THEN 4 ELSE 0 END,
       CASE WHEN octet_length(o.payload) <= $13 THEN o.payload END,
       CASE WHEN octet_length(o.payload_bytes) <= $13 THEN o.payload_bytes END,
       CASE WHEN octet_length(o.content_type) > 4000 THEN left(o.content_type, 1000) ELSE o.content_type END,
       CASE WHEN octet_length(o.headers) > 65536 THEN left(o.headers, 65537) ELSE o.headers END,
       o.created_at{not_walked}
FROM found AS f
JOIN {outbox} AS o ON o.id = f.id
