-- The latest changes of holder, newest first; of one lease, or of all when $1 is null.
-- $1 name or null, $2 limit, $3 before which line
SELECT id, name, term, cause, node, incarnation, machine, pid,
       (extract(epoch FROM at) * 1000000)::bigint AS at_us
FROM {lease_history}
WHERE ($1 IS NULL OR name = $1) AND id < $3
ORDER BY id DESC
LIMIT $2
