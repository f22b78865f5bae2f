-- Makes dead messages pending again, each with its line of audit. Of two operators, the second waits for the first and
-- finds nothing left.
-- $1 topic, $2 source, $3 type, $4 id, each or null for any; $5 how many, $6 after which number, $7 from when on or null, $8 until
-- before when or null, $9 cause or null, $10 how many are looked at, $11 who
WITH {pass}, chosen AS MATERIALIZED (
    SELECT d.id, d.attempts, d.reason, o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type
    FROM met AS m
    JOIN {outbox_dead} AS d ON d.id = m.id
    JOIN {outbox} AS o ON o.id = d.id
    WHERE d.discarded_at IS NULL AND ($9::bigint IS NULL OR d.cause = $9)
    ORDER BY d.id
    FOR UPDATE OF d
), raised AS (
    DELETE FROM {outbox_dead} AS d USING chosen AS c WHERE d.id = c.id
), revived AS (
    INSERT INTO {outbox_pending} AS p (id, source, source_seq, source_index, due_at, attempts, forgiven)
    SELECT id, CASE WHEN octet_length(source) BETWEEN 1 AND 500 THEN source END, source_seq, source_index,
           clock_timestamp(), attempts, attempts
    FROM chosen
    ON CONFLICT (id) DO UPDATE SET
        due_at = excluded.due_at, attempts = excluded.attempts, forgiven = excluded.forgiven
), noted AS (
    INSERT INTO {audit} (at, actor, action, subject, detail)
    SELECT clock_timestamp(), $11, 'outbox retry', message_id::text,
           left(topic, 300) || '/' || left(type, 300) || ': ' || reason
    FROM chosen
)
SELECT c.message_id, p.* FROM ({passed}) AS p LEFT JOIN chosen AS c ON true ORDER BY c.id
