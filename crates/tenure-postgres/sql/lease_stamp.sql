-- Stamps a recorded holding as given back, and adds its line of history.
-- $1 name, $2 term, $3 claim
WITH locked AS (
    SELECT name FROM {leases}
    WHERE name = $1 AND term = $2 AND claim = $3 AND released_at IS NULL
    FOR UPDATE
), ended AS (
    UPDATE {leases} AS l
    SET renewed_at = clock_timestamp(), released_at = clock_timestamp(), presence = NULL, presence_trust_ms = NULL
    FROM locked
    WHERE l.name = locked.name
    RETURNING l.*
)
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
SELECT name, term, CASE WHEN revoked_at IS NULL THEN 'released' ELSE 'resigned' END,
       node, incarnation, machine, pid, released_at
FROM ended
RETURNING term
