-- The cluster without its daemons: one row for the leader's lease, and one for each node with its own lease. No row at all
-- means that the cluster's own row is gone.
-- $1 the leader's lease, $2 what a node's lease is called before the node's name
SELECT {lease_columns}, {member_columns}, c.revision AS cluster_revision, {now_fragment}
FROM {cluster} AS c
CROSS JOIN (
    SELECT NULL AS node, $1 AS lease
    UNION ALL
    SELECT name, CONCAT($2, name) FROM {nodes}
) AS w
LEFT JOIN {nodes} AS n ON n.name = w.node
LEFT JOIN {leases} AS l ON l.name = w.lease
ORDER BY n.name
