-- Rows in order of names, and the clock.
-- $1 after which name, $2 from which name on, $3 before which, $4 limit
SELECT {lease_columns}, {now_fragment}
FROM (SELECT 1) AS always
LEFT JOIN (
    SELECT * FROM {leases} FORCE INDEX (PRIMARY) WHERE name > $1 AND name >= $2 AND name < $3 ORDER BY name LIMIT $4
) AS l ON true
ORDER BY l.name
