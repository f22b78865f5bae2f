-- Records attempts of any outcome, if the relay is in office.
-- $1 lease or null, $2 term, $3 node, $4 rows, $5 the numbers of their attempts, $6 how long they took, in microseconds,
-- $7 outcomes, $8 what becomes of them (0 done, 1 again, 2 dead, 3 dead and its source stands still),
-- $9 pauses in microseconds, $10 reasons, $11 causes
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR KEY SHARE
), office AS MATERIALIZED (
    SELECT 1 FROM locked
    WHERE term = $2 AND released_at IS NULL AND revoked_at IS NULL AND expires_at > clock_timestamp()
    UNION ALL
    SELECT 1 WHERE $1 IS NULL
), held AS MATERIALIZED (
    SELECT p.id, p.source, o.attempt, o.took_us, o.outcome, o.pause_us, o.reason, o.cause,
           CASE WHEN o.next = 3 AND p.source IS NULL THEN 2 ELSE o.next END AS next
    FROM unnest($4, $5, $6, $7, $8, $9, $10, $11) AS o (id, attempt, took_us, outcome, next, pause_us, reason, cause)
    JOIN {outbox_pending} AS p ON p.id = o.id
    WHERE p.attempts = o.attempt - 1 AND p.due_at IS NOT NULL AND EXISTS (SELECT 1 FROM office)
    FOR UPDATE OF p
), gone AS (
    DELETE FROM {outbox_pending} AS p USING held AS h WHERE p.id = h.id AND h.next IN (0, 2)
), kept AS (
    UPDATE {outbox_pending} AS p
    SET attempts = h.attempt,
        due_at = CASE WHEN h.next = 1 THEN clock_timestamp() + h.pause_us * interval '1 microsecond' END
    FROM held AS h
    WHERE p.id = h.id AND h.next IN (1, 3)
), buried AS (
    INSERT INTO {outbox_dead} AS d (id, source, died_at, outcome, reason, attempts, halts, cause)
    SELECT id, source, clock_timestamp(), outcome, coalesce(reason, ''), attempt, next = 3, cause
    FROM held WHERE next IN (2, 3)
    ON CONFLICT (id) DO UPDATE SET
        died_at = excluded.died_at, outcome = excluded.outcome, reason = excluded.reason,
        attempts = excluded.attempts, halts = excluded.halts, cause = excluded.cause, discarded_at = NULL
), noted AS (
    INSERT INTO {outbox_attempts} (message, number, at, outcome, took_us, node, term, error)
    SELECT id, attempt, clock_timestamp(), outcome, took_us, $3, $2, reason FROM held
    ON CONFLICT (message, number) DO NOTHING
)
SELECT EXISTS (SELECT 1 FROM office) AS in_office, (SELECT array_agg(id) FROM held) AS applied
