-- The row of a lease and the clock, in one plain statement: what a waiting node costs per look.
-- $1 name
SELECT {columns}, {now_us}
FROM (SELECT 1) AS always
LEFT JOIN {leases} AS l ON l.name = $1
