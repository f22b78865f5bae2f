-- Rows in order of names, and the clock.
-- 1 after which name, 2 from which name on, 3 before which, 4 limit
SELECT {lease_columns}, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN (
    SELECT TOP (@P4) * FROM {leases} WHERE name > @B1 AND name >= @B2 AND name < @B3 ORDER BY name
) AS l ON 1 = 1
ORDER BY l.name
