-- The latest changes of holder, newest first.
-- 1 before which number, 2 limit
SELECT TOP (@P2) id, name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM {lease_history}
WHERE id < @P1
ORDER BY id DESC
