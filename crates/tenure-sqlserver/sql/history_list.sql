-- The latest changes of holder, newest first; of one lease, or of all when 1 is null.
-- 1 name or null, 2 limit
SELECT TOP (@P2) id, name, term, cause, node, incarnation, machine, pid,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', at) AS at_us
FROM {lease_history}
WHERE @B1 IS NULL OR name = @B1
ORDER BY id DESC
