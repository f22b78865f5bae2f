select daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout,
       paused_by, pinned_to, retired, failures, avoids, moves, revision
from {assignments}
