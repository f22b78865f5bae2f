-- The latest changes of holder, newest first; of one lease, or of all when $1 is null.
-- $1 name or null, $2 limit
SELECT id, name, term, cause, node, incarnation, machine, pid,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', at) AS at_us
FROM {lease_history}
WHERE $1 IS NULL OR name = $1
ORDER BY id DESC
LIMIT $2
