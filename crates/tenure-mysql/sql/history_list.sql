-- The latest changes of holder, newest first.
-- $1 before which number, $2 limit
SELECT id, name, term, cause, node, incarnation, machine, pid,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', at) AS at_us
FROM {lease_history} FORCE INDEX (PRIMARY)
WHERE id < $1
ORDER BY id DESC
LIMIT $2
