-- All nodes, each with its lease as it is, and by which clock; one row without a node where there is none.
-- 1 what a node's lease is called before the node's name
SELECT {lease_columns}, {member_columns}, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN {nodes} AS n ON 1 = 1
LEFT JOIN {leases} AS l ON l.name = CAST(@B1 + n.name AS varbinary(200))
ORDER BY n.name
