-- Rows in order of names, in a range of names, and the clock.
-- $1 limit, $2 from which name on, $3 below which, $4 the one that is left out
SELECT {columns}, {now_us}
FROM (SELECT 1) AS always
LEFT JOIN LATERAL (
    SELECT * FROM {leases} WHERE name >= $2 AND name < $3 AND name <> $4 ORDER BY name LIMIT $1
) AS l ON true
