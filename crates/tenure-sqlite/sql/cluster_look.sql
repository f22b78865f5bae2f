-- The cluster without its daemons: one row for the leader's lease (?1), and one for each node with its own lease, whose name
-- is ?2 before the node's. No row at all means that the cluster's own row is gone.
select {lease}, {member}, c.revision as cluster_revision
from {cluster} as c
cross join (
    select null as node, ?1 as lease
    union all
    select name, ?2 || name from {nodes}
) as w
left join {nodes} as n on n.name = w.node
left join {leases} as l on l.name = w.lease
order by n.name nulls first
