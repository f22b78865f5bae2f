-- The cluster without its daemons: one row for the leader's lease, and one for each node with its own lease. No row at all
-- means that the cluster's own row is gone.
--
-- Nodes must not be older than the number beside them. So the cluster's row is read first (FORCE ORDER) and held for the rest
-- of the statement: whoever changes a node holds it too. All tables are read with locks, also where the database would give a
-- version of the rows from before the wait for that one.
-- 1 the leader's lease, 2 what a node's lease is called before the node's name
SELECT {lease_columns}, {member_columns}, c.revision AS cluster_revision, {now_fragment}
FROM {cluster} AS c WITH (REPEATABLEREAD, ROWLOCK)
CROSS JOIN (
    SELECT CAST(NULL AS varbinary(200)) AS node, CAST(@B1 AS varbinary(200)) AS lease
    UNION ALL
    SELECT m.name, CAST(@B2 + m.name AS varbinary(200)) FROM {nodes} AS m WITH (READCOMMITTEDLOCK)
) AS w
LEFT JOIN {nodes} AS n WITH (READCOMMITTEDLOCK) ON n.name = w.node
LEFT JOIN {leases} AS l WITH (READCOMMITTEDLOCK) ON l.name = w.lease
ORDER BY n.name
OPTION (FORCE ORDER)
