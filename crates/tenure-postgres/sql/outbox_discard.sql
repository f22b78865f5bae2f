-- Decides that dead messages are not sent, each with its line of audit; a source that stood still goes on.
-- $1 topic, $2 source, $3 type, $4 id, each or null for any; $5 how many, $6 after which number, $7 from when on or null, $8 until
-- before when or null, $9 cause or null, $10 how many are looked at, $11 who
WITH {pass}, chosen AS MATERIALIZED (
    SELECT d.id, d.reason, o.message_id, o.topic, o.type
    FROM met AS m
    JOIN {outbox_dead} AS d ON d.id = m.id
    JOIN {outbox} AS o ON o.id = d.id
    WHERE d.discarded_at IS NULL AND ($9::bigint IS NULL OR d.cause = $9)
    ORDER BY d.id
    FOR UPDATE OF d
), decided AS (
    UPDATE {outbox_dead} AS d SET discarded_at = clock_timestamp() FROM chosen AS c WHERE d.id = c.id
), freed AS (
    DELETE FROM {outbox_pending} AS p USING chosen AS c WHERE p.id = c.id AND p.due_at IS NULL
), noted AS (
    INSERT INTO {audit} (at, actor, action, subject, detail)
    SELECT clock_timestamp(), $11, 'outbox discard', message_id::text,
           left(topic, 300) || '/' || left(type, 300) || ': ' || reason
    FROM chosen
)
SELECT c.message_id, p.* FROM ({passed}) AS p LEFT JOIN chosen AS c ON true ORDER BY c.id
