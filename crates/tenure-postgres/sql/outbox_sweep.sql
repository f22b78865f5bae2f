-- Deletes what is old enough among the next rows, if the sweeper is in office. What is pending stays, and so does a dead
-- message that its source stands still behind. A message that an operator retries just now is his: its row among the
-- dead is gone, or waits for this transaction.
-- $1 lease or null, $2 term, $3 after which row, $4 how many rows; how long to keep, in microseconds or null for ever:
-- $5 dispatched, $6 dead, $7 discarded, $8 rows of inboxes
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR KEY SHARE
), office AS MATERIALIZED (
    SELECT 1 FROM locked
    WHERE term = $2 AND released_at IS NULL AND revoked_at IS NULL AND expires_at > clock_timestamp()
    UNION ALL
    SELECT 1 WHERE $1 IS NULL
), clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), step AS MATERIALIZED (
    SELECT o.id, o.source, o.source_seq, o.source_index, o.deliver_at, o.created_at
    FROM {outbox} AS o
    WHERE o.id > $3 AND EXISTS (SELECT 1 FROM office) AND coalesce($5, $6, $7) IS NOT NULL
    ORDER BY o.id
    LIMIT $4
), doomed AS MATERIALIZED (
    SELECT s.id, d.id IS NOT NULL AS dead, d.discarded_at
    FROM step AS s
    LEFT JOIN {outbox_pending} AS p ON p.id = s.id
    LEFT JOIN {outbox_dead} AS d ON d.id = s.id
    LEFT JOIN LATERAL (
        SELECT a.at, a.outcome FROM {outbox_attempts} AS a WHERE a.message = s.id ORDER BY a.number DESC LIMIT 1
    ) AS last ON true
    WHERE p.id IS NULL
      AND CASE
          -- Only what was delivered: a row that the trigger did not see is no such thing.
          WHEN d.id IS NULL
              THEN last.outcome = 'success' AND last.at <= (SELECT now FROM clock) - $5 * interval '1 microsecond'
          WHEN d.discarded_at IS NULL
              THEN d.died_at <= (SELECT now FROM clock) - $6 * interval '1 microsecond'
          ELSE d.discarded_at <= (SELECT now FROM clock) - $7 * interval '1 microsecond'
      END
), adopted AS (
    -- A row that came past the trigger (a replica's role, disabled triggers) was neither queued nor tried: it is queued now.
    INSERT INTO {outbox_pending} (id, source, source_seq, source_index, due_at)
    SELECT s.id, CASE WHEN octet_length(s.source) BETWEEN 1 AND 500 THEN s.source END, s.source_seq, s.source_index,
           coalesce(s.deliver_at, s.created_at)
    FROM step AS s
    WHERE NOT EXISTS (SELECT 1 FROM {outbox_pending} AS p WHERE p.id = s.id)
      AND NOT EXISTS (SELECT 1 FROM {outbox_dead} AS d WHERE d.id = s.id)
      AND NOT EXISTS (SELECT 1 FROM {outbox_attempts} AS a WHERE a.message = s.id)
    ON CONFLICT (id) DO NOTHING
), unburied AS (
    DELETE FROM {outbox_dead} AS d USING doomed AS x
    WHERE x.dead AND d.id = x.id AND d.discarded_at IS NOT DISTINCT FROM x.discarded_at
    RETURNING d.id, d.discarded_at
), ending AS MATERIALIZED (
    SELECT id FROM doomed WHERE NOT dead
    UNION ALL
    SELECT id FROM unburied
), forgotten AS (
    DELETE FROM {outbox_attempts} AS a USING ending AS e WHERE a.message = e.id
), removed AS (
    DELETE FROM {outbox} AS o USING ending AS e WHERE o.id = e.id
), old AS MATERIALIZED (
    SELECT i.consumer, i.message_id
    FROM {inbox} AS i
    WHERE i.accepted_at <= (SELECT now FROM clock) - $8 * interval '1 microsecond' AND EXISTS (SELECT 1 FROM office)
    ORDER BY i.accepted_at
    LIMIT $4
    FOR UPDATE SKIP LOCKED
), swept AS (
    DELETE FROM {inbox} AS i USING old AS o WHERE i.consumer = o.consumer AND i.message_id = o.message_id
    RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM office) AS in_office,
       (SELECT count(*) FROM doomed WHERE NOT dead) AS dispatched,
       (SELECT count(*) FROM unburied WHERE discarded_at IS NULL) AS dead,
       (SELECT count(*) FROM unburied WHERE discarded_at IS NOT NULL) AS discarded,
       (SELECT count(*) FROM swept) AS inbox,
       (SELECT count(*) FROM step) AS seen,
       (SELECT max(id) FROM step) AS last,
       -- Rows are numbered nearly in the order of time: behind a step of young ones there are only young ones.
       coalesce((SELECT min(created_at) FROM step)
           > (SELECT now FROM clock) - least($5, $6, $7) * interval '1 microsecond', false) AS young
