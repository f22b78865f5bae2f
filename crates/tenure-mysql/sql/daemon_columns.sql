a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', a.deadline) AS deadline_us, a.reason,
TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', a.since) AS since_us, a.weight, a.labels, a.group_name, a.layout,
a.paused_by, a.pinned_to, a.retired, a.failures, a.avoids, a.moves, a.revision
