insert or replace into {assignments} (
    daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout,
    paused_by, pinned_to, retired, failures, avoids, moves, revision
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
