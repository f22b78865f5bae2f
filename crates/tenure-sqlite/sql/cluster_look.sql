-- The cluster without its daemons: one row for the leader's lease (?1), and one for each node with its own lease, whose name
-- is ?2 before the node's. No row at all means that the cluster's own row is gone.
select l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend, l.acquired_at,
       l.renewed_at, l.expires_at, l.released_at, l.revoked_at, l.presence, l.presence_trust_ms, l.clock_boot, l.clock_us,
       n.name, n.incarnation, n.term, n.machine, n.pid, n.labels, n.version, n.capacity, n.leads, n.agents, n.leaving,
       n.joined_at, n.revision,
       c.revision
from {cluster} as c
cross join (
    select null as node, ?1 as lease
    union all
    select name, ?2 || name from {nodes}
) as w
left join {nodes} as n on n.name = w.node
left join {leases} as l on l.name = w.lease
order by n.name nulls first
