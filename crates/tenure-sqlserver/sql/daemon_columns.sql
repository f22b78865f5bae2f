a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.deadline) AS deadline_us, a.reason,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout,
a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision
