-- Appends events, dispatches and a mark, or nothing, and answers what came of it. The parts between "if" and "end" stand
-- only in the statements of appends that have such a thing.
--
-- The parts of one statement happen in the order in which they need each other, and in no other: nothing is looked at
-- after `held`, nothing is written before `moved`, everything after it needs its row. Whatever is there already when the
-- statement begins leaves `held` empty, and with it all the rest; what comes in between violates a unique index, and the
-- whole statement is undone and run again.
--
-- $1 stream, $2 its version (or null)
-- Events as lists: $3 ids, $4 types, $5 schemas, $6 messages, $7 correlations, $8 causations, $9 headers, $10 payloads as
-- text, $11 payloads as bytes. One alone is not unfolded from its lists, which takes longer than to insert it.
-- Mark: $12 consumer, $13 message, $14 fingerprint, $15 why it is refused
-- $16 to $26 dispatches as lists of what outbox_enqueue.sql takes
WITH
-- if mark
seen AS MATERIALIZED (
    SELECT fingerprint::text AS fingerprint, refused FROM {inbox} WHERE consumer = $12 AND message_id = $13::text::uuid
),
-- end
-- if dispatches
known AS MATERIALIZED (
    SELECT 1 FROM {outbox} WHERE message_id = ANY ($16::text[]::uuid[])
),
-- end
-- if any events
again AS MATERIALIZED (
    SELECT 1 FROM {events} WHERE any_version AND event_id = ANY ($3::text[]::uuid[])
),
-- end
held AS MATERIALIZED (
    SELECT
        s.k,
        -- Shows every reader a number that none of our positions will be below, before the first of them is taken. Why that
        -- is enough is told in events/horizon.rs.
        -- if events own
        pg_advisory_xact_lock_shared({position_class} # '{events}'::regclass::oid::integer, s.k::bit(32)::integer)::text
        -- end
        -- if events joined
        -- Once in each transaction, however often it appends; a savepoint that is rolled back undoes both, lock and note.
        -- With it goes the bound on how long the transaction may be idle, if it has none that is shorter.
        CASE WHEN current_setting('tenure.held_' || '{events}'::regclass::oid, true)
                  IS DISTINCT FROM pg_current_xact_id()::text
            THEN concat(
                pg_advisory_xact_lock_shared(
                    {position_class} # '{events}'::regclass::oid::integer, s.k::bit(32)::integer
                )::text,
                set_config('tenure.held_' || '{events}'::regclass::oid, pg_current_xact_id()::text, true),
                CASE WHEN extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval) * 1000
                          NOT BETWEEN 1 AND {idle_ms}
                    THEN set_config('idle_in_transaction_session_timeout', '{idle_ms}', true)
                END
            )
        END
        -- end
        -- if bare
        NULL
        -- end
        AS lock
    FROM
        -- if events
        {next} AS s
        -- end
        -- if bare
        (SELECT NULL::bigint AS k) AS s
        -- end
    WHERE true
    -- if mark
    AND NOT EXISTS (SELECT 1 FROM seen)
    -- end
    -- if dispatches
    AND NOT EXISTS (SELECT 1 FROM known)
    -- end
    -- if any events
    AND NOT EXISTS (SELECT 1 FROM again)
    -- end
    -- What cannot follow takes no lock: in the user's transaction it would hold up readers until that ends.
    -- if none events joined
    AND NOT EXISTS (SELECT 1 FROM {streams} WHERE stream = $1)
    -- end
    -- if exact events joined
    AND EXISTS (SELECT 1 FROM {streams} WHERE stream = $1 AND version = $2)
    -- end
),
-- The stream's row, locked, and moved if it has the version that is expected: whoever else writes to the stream waits
-- here, and finds it moved.
moved AS (
    -- if none events
    INSERT INTO {streams} (stream, version)
    SELECT $1, cardinality($3::text[]) FROM held
    ON CONFLICT (stream) DO NOTHING
    RETURNING 0::bigint AS base
    -- end
    -- if exact events
    UPDATE {streams} AS s SET version = s.version + cardinality($3::text[])
    FROM held
    WHERE s.stream = $1 AND s.version = $2
    RETURNING s.version - cardinality($3::text[]) AS base
    -- end
    -- if any events
    INSERT INTO {streams} AS s (stream, version)
    SELECT $1, cardinality($3::text[]) FROM held
    ON CONFLICT (stream) DO UPDATE SET version = s.version + excluded.version
    RETURNING s.version - cardinality($3::text[]) AS base
    -- end
    -- if none bare
    SELECT 0::bigint AS base FROM held WHERE NOT EXISTS (SELECT 1 FROM {streams} WHERE stream = $1)
    -- end
    -- if exact bare
    SELECT s.version AS base FROM {streams} AS s, held WHERE s.stream = $1 AND s.version = $2 FOR NO KEY UPDATE OF s
    -- end
    -- if any bare
    SELECT coalesce((SELECT version FROM {streams} WHERE stream = $1), 0) AS base FROM held
    -- end
)
-- if events
, written AS (
    INSERT INTO {events} (
        stream, version, event_id, type, schema_version, message_id, correlation, causation, headers, any_version, payload,
        payload_bytes
    )
    -- end
    -- if events lone
    SELECT $1, m.base + 1, ($3::text[])[1]::uuid, ($4::text[])[1], ($5::integer[])[1], ($6::text[])[1]::uuid,
           ($7::text[])[1], ($8::text[])[1], ($9::text[])[1], {any}, ($10::text[])[1], ($11::bytea[])[1]
    FROM moved AS m
    -- end
    -- if events many
    SELECT $1, m.base + g.place, g.id::uuid, g.type, g.schema_version, g.message_id::uuid, g.correlation, g.causation,
           g.headers, {any}, g.payload, g.payload_bytes
    FROM moved AS m
    CROSS JOIN unnest(
        $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bytea[]
    ) WITH ORDINALITY AS g (
        id, type, schema_version, message_id, correlation, causation, headers, payload, payload_bytes, place
    )
    ORDER BY g.place
    -- end
    -- if events
    RETURNING position
)
-- end
-- if dispatches
, sent AS (
    INSERT INTO {outbox} (
        message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers,
        deliver_at
    )
    -- end
    -- if single
    SELECT coalesce(($16::text[])[1]::uuid, gen_random_uuid()), ($17::text[])[1], ($18::bigint[])[1], ($19::integer[])[1],
           ($20::text[])[1], ($21::text[])[1], ($22::text[])[1], ($23::bytea[])[1], ($24::text[])[1], ($25::text[])[1],
           CASE WHEN ($26::bigint[])[1] > 0 THEN clock_timestamp() + ($26::bigint[])[1] * interval '1 microsecond' END
    FROM moved AS m
    -- end
    -- if several
    SELECT coalesce(g.id::uuid, gen_random_uuid()), g.source, g.source_seq, g.source_index, g.topic, g.type, g.payload,
           g.payload_bytes, g.content_type, g.headers,
           CASE WHEN g.delay_us > 0 THEN clock_timestamp() + g.delay_us * interval '1 microsecond' END
    FROM moved AS m
    CROSS JOIN unnest(
        $16::text[], $17::text[], $18::bigint[], $19::integer[], $20::text[], $21::text[], $22::text[], $23::bytea[],
        $24::text[], $25::text[], $26::bigint[]
    ) WITH ORDINALITY AS g (
        id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, headers, delay_us, place
    )
    ORDER BY g.place
    -- end
    -- if dispatches
)
-- end
-- if mark
, marked AS (
    INSERT INTO {inbox} (consumer, message_id, fingerprint, refused, accepted_at)
    SELECT $12, $13::text::uuid, $14::text::uuid, $15, clock_timestamp() FROM moved
)
-- end
SELECT
    m.base,
    -- if events
    w.last AS position,
    -- A position below the number that we showed: readers may have gone past it. Divides by zero then, which undoes it all.
    1 / (w.first >= h.k)::integer AS sound,
    -- Wakes a reader that sleeps, as the outbox wakes a relay: see wakeup.rs.
    CASE WHEN w.last IS NOT NULL
        THEN CASE WHEN NOT pg_try_advisory_xact_lock_shared({wakeup_class}, '{events}'::regclass::oid::integer)
            THEN pg_notify('{events_channel}' || '{events}'::regclass::oid, '')::text
        END
    END AS woken,
    -- end
    -- if bare
    NULL::bigint AS position,
    -- end
    -- if mark
    (SELECT count(*) FROM seen) AS seen,
    (SELECT fingerprint FROM seen) AS fingerprint,
    (SELECT refused FROM seen) AS refused
    -- end
    -- if unmarked
    0::bigint AS seen
    -- end
FROM
    -- if events
    (SELECT min(position) AS first, max(position) AS last FROM written) AS w
    LEFT JOIN held AS h ON true
    -- end
    -- if bare
    (SELECT 1) AS always
    -- end
    LEFT JOIN moved AS m ON true
