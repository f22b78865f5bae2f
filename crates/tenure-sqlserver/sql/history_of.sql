-- The same of one lease.
-- 1 before which number, 2 limit, 3 name
SELECT TOP (@P2) id, name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM {lease_history} WITH (INDEX (name_id))
WHERE name = @B3 AND id < @P1
ORDER BY id DESC
