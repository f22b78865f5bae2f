n.name AS member, n.incarnation AS member_incarnation, n.term AS member_term, n.machine AS member_machine,
n.pid AS member_pid, n.labels, n.version, n.capacity, n.leads, n.agents, n.leaving,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', n.joined_at) AS joined_us, n.revision AS member_revision
