select daemon, state, weight, labels, group_name, layout, node, node_term, generation, next_node, deadline as deadline_us,
       reason, since as since_us, paused_by, pinned_to, retired, failures, avoids, moves, revision
from {assignments}
