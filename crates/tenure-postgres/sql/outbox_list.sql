-- Messages, the newest first. Which tables they are found by, and of which state they are, is filled in: it decides the plan.
-- $1 before which row, $2 topic, $3 source, $4 type, each or null for any; $5 how many
SELECT o.id, o.message_id, o.source, o.source_seq, o.source_index, o.topic, o.type, o.created_at AS created_us,
       CASE WHEN d.discarded_at IS NOT NULL THEN 'discarded' WHEN d.id IS NOT NULL THEN 'dead'
            -- One that was neither queued nor tried came past the trigger; retention queues it.
            WHEN p.id IS NOT NULL OR last.number IS NULL THEN 'pending' ELSE 'dispatched' END AS state,
       coalesce(p.attempts, d.attempts, last.number, 0) AS attempts,
       p.due_at AS due_us,
       CASE WHEN d.id IS NOT NULL THEN coalesce(d.discarded_at, d.died_at)
            WHEN p.id IS NULL THEN last.at END AS finished_us,
       coalesce(d.reason, last.error) AS last_error,
       coalesce(d.halts AND d.discarded_at IS NULL, false) AS halts{more}
FROM {rows}
LEFT JOIN LATERAL (
    SELECT a.number, a.at, a.error FROM {outbox_attempts} AS a WHERE a.message = o.id ORDER BY a.number DESC LIMIT 1
) AS last ON true
WHERE {state}
  AND {order} < coalesce($1::bigint, 9223372036854775807) AND ($2::text IS NULL OR o.topic = $2)
  AND ($3::text IS NULL OR o.source = $3) AND ($4::text IS NULL OR o.type = $4)
ORDER BY {order} DESC
LIMIT $5
