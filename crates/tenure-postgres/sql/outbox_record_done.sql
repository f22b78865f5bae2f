-- Records successes, if the relay is in office: the usual batch, as cheap as can be. A row is finished only if its next
-- attempt has the number that was given.
-- $1 lease or null, $2 term, $3 node, $4 rows, $5 the numbers of their attempts, $6 how long they took, in microseconds
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR KEY SHARE
), office AS MATERIALIZED (
    SELECT 1 FROM locked
    WHERE term = $2 AND released_at IS NULL AND revoked_at IS NULL AND expires_at > clock_timestamp()
    UNION ALL
    SELECT 1 WHERE $1 IS NULL
), gone AS (
    DELETE FROM {outbox_pending} AS p
    USING unnest($4, $5, $6) AS o (id, attempt, took_us)
    WHERE p.id = o.id AND p.attempts = o.attempt - 1 AND p.due_at IS NOT NULL AND EXISTS (SELECT 1 FROM office)
    RETURNING p.id, o.attempt, o.took_us
), noted AS (
    INSERT INTO {outbox_attempts} (message, number, at, outcome, took_us, node, term)
    SELECT id, attempt, clock_timestamp(), 'success', took_us, $3, $2 FROM gone
)
SELECT EXISTS (SELECT 1 FROM office) AS in_office, (SELECT array_agg(id) FROM gone) AS applied
