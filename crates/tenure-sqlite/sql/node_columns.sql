n.name as member, n.incarnation as member_incarnation, n.machine as member_machine, n.pid as member_pid,
n.term as member_term, n.labels, n.version, n.capacity, n.leads, n.agents, n.leaving, n.joined_at as joined_us,
n.revision as member_revision
