-- Every row in order of names, and the clock.
-- $1 limit
SELECT {columns}, {now_us}
FROM (SELECT 1) AS always
LEFT JOIN LATERAL (SELECT * FROM {leases} ORDER BY name LIMIT $1) AS l ON true
