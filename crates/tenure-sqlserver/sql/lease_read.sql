-- The row of a lease and the clock, without holding a lock: what a waiting node costs per look.
-- 1 name
SELECT {lease_columns}, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN {leases} AS l ON l.name = @B1
