-- Stamps recorded holdings that nobody has touched for as long as they were said to live. Rows of this store's own
-- leases are left alone, and so are rows that are locked just now: the next sweep comes.
-- $1 what this store calls itself, $2 limit
WITH forgotten AS (
    SELECT name FROM {leases}
    WHERE (backend <> $1 OR origin_term IS NOT NULL) AND released_at IS NULL AND expires_at <= clock_timestamp()
    ORDER BY name
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), ended AS (
    UPDATE {leases} AS l
    SET released_at = clock_timestamp(), presence = NULL, presence_trust_ms = NULL
    FROM forgotten
    WHERE l.name = forgotten.name
    RETURNING l.*
)
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
SELECT name, term, 'expired', node, incarnation, machine, pid, released_at
FROM ended
RETURNING term
