-- Every row in order of names, and the clock.
-- 1 limit
SELECT {lease_columns}, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN (SELECT TOP (@P1) * FROM {leases} ORDER BY name) AS l ON 1 = 1
ORDER BY l.name
