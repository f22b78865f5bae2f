-- Every row in order of names, and the clock.
-- $1 limit
SELECT {lease_columns}, {now_fragment}
FROM (SELECT 1) AS always
LEFT JOIN (SELECT * FROM {leases} ORDER BY name LIMIT $1) AS l ON true
ORDER BY l.name
