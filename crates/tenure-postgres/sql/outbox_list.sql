-- Messages, the newest first, and how far was looked for them. Which rows are looked at is filled in: it decides the plan. Of
-- those at most $7 are taken, and no others are touched.
-- $1 before which row, $2 topic, $3 source, $4 type, each or null for any; $5 how many, $6 after which row, $7 how many are
-- looked at, $8 from when on or null, $9 until before when or null; $10 id, cause, rows or how much of the payload
WITH w AS MATERIALIZED (
    {walk}
), reached AS MATERIALIZED (
    -- Once, and not for each message that is found.
    SELECT e.looked, e.end_id, (SELECT w.created_at FROM w WHERE w.id = e.end_id LIMIT 1) AS end_us
    FROM (SELECT count(*) AS looked, min(w.id) AS end_id FROM w) AS e
), hit AS MATERIALIZED (
    SELECT fit.id
    FROM (
        SELECT w.id
        FROM w
        WHERE w.fits AND ($2::text IS NULL OR w.topic = $2) AND ($3::text IS NULL OR w.source = $3)
          AND ($4::text IS NULL OR w.type = $4)
          AND ($8::timestamptz IS NULL OR w.created_at >= $8) AND ($9::timestamptz IS NULL OR w.created_at < $9){but}
    ) AS fit
    ORDER BY fit.id DESC
    LIMIT $5
), found AS (
    SELECT o.id, o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.created_at AS created_us,
           CASE WHEN d.discarded_at IS NOT NULL THEN 'discarded' WHEN d.id IS NOT NULL THEN 'dead'
                -- One that was neither queued nor tried came past the trigger; retention queues it.
                WHEN p.id IS NOT NULL OR last.number IS NULL THEN 'pending' ELSE 'dispatched' END AS state,
           coalesce(p.attempts, d.attempts, last.number, 0) AS attempts,
           p.due_at AS due_us,
           CASE WHEN d.id IS NOT NULL THEN coalesce(d.discarded_at, d.died_at)
                WHEN p.id IS NULL THEN last.at END AS finished_us,
           coalesce(d.reason, last.error) AS last_error,
           coalesce(d.halts AND d.discarded_at IS NULL, false) AS halts, d.cause{more}
    FROM hit
    JOIN {outbox} AS o ON o.id = hit.id
    LEFT JOIN {outbox_pending} AS p ON p.id = hit.id
    LEFT JOIN {outbox_dead} AS d ON d.id = hit.id
    LEFT JOIN LATERAL (
        SELECT a.number, a.at, a.error FROM {outbox_attempts} AS a WHERE a.message = hit.id ORDER BY a.number DESC LIMIT 1
    ) AS last ON true
)
SELECT f.*, e.looked, e.end_id, e.end_us
FROM reached AS e
LEFT JOIN found AS f ON true
ORDER BY f.id DESC
