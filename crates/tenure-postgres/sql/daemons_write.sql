-- Writes whole rows, given as lists.
INSERT INTO {assignments} AS a (
    daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout,
    paused_by, pinned_to, retired, failures, avoids, moves, revision
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::timestamptz[], $8::text[],
    $9::timestamptz[], $10::bigint[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::boolean[],
    $17::bigint[], $18::text[], $19::bigint[], $20::bigint[]
)
ON CONFLICT (daemon) DO UPDATE SET
    state = excluded.state,
    node = excluded.node,
    node_term = excluded.node_term,
    generation = excluded.generation,
    next_node = excluded.next_node,
    deadline = excluded.deadline,
    reason = excluded.reason,
    since = excluded.since,
    weight = excluded.weight,
    labels = excluded.labels,
    group_name = excluded.group_name,
    layout = excluded.layout,
    paused_by = excluded.paused_by,
    pinned_to = excluded.pinned_to,
    retired = excluded.retired,
    failures = excluded.failures,
    avoids = excluded.avoids,
    moves = excluded.moves,
    revision = excluded.revision
