-- Writes whole rows.
-- $1 rows
INSERT INTO {assignments} (
    daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout,
    paused_by, pinned_to, retired, failures, avoids, moves, revision
) VALUES $1
ON DUPLICATE KEY UPDATE
    state = VALUES(state), node = VALUES(node), node_term = VALUES(node_term), generation = VALUES(generation),
    next_node = VALUES(next_node), deadline = VALUES(deadline), reason = VALUES(reason), since = VALUES(since),
    weight = VALUES(weight), labels = VALUES(labels), group_name = VALUES(group_name), layout = VALUES(layout),
    paused_by = VALUES(paused_by), pinned_to = VALUES(pinned_to), retired = VALUES(retired), failures = VALUES(failures),
    avoids = VALUES(avoids), moves = VALUES(moves), revision = VALUES(revision)
