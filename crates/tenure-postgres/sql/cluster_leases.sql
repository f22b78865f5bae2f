-- The leases of nodes as they are, and those of daemons, locked. A lease of a daemon that cannot be had at once is in use: a
-- transaction under its fence is open, and may stay so for long.
-- $1 names of nodes' leases, $2 names of daemons' leases
WITH locked AS MATERIALIZED (
    SELECT * FROM {leases} WHERE name = ANY ($2) ORDER BY name FOR UPDATE SKIP LOCKED
)
SELECT {columns}, 0::bigint AS in_use FROM {leases} AS l WHERE l.name = ANY ($1)
UNION ALL
SELECT {columns}, 0::bigint AS in_use FROM locked AS l
UNION ALL
SELECT {columns}, 1::bigint AS in_use FROM {leases} AS l
WHERE l.name = ANY ($2) AND l.name NOT IN (SELECT name FROM locked)
