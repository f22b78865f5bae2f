-- Writes whole rows. Whoever calls this holds the cluster's row, so nobody writes them in between.
-- 1 rows
UPDATE t
SET state = r.state,
    node = r.node,
    node_term = r.node_term,
    generation = r.generation,
    next_node = r.next_node,
    deadline = r.deadline,
    reason = r.reason,
    since = r.since,
    weight = r.weight,
    labels = r.labels,
    group_name = r.group_name,
    layout = r.layout,
    paused_by = r.paused_by,
    pinned_to = r.pinned_to,
    retired = r.retired,
    failures = r.failures,
    avoids = r.avoids,
    moves = r.moves,
    revision = r.revision
FROM OPENJSON(@P1) WITH (
    daemon varbinary(200) '$.b[0]',
    state nvarchar(16) '$.v[1]',
    node varbinary(200) '$.b[2]',
    node_term bigint '$.v[3]',
    generation bigint '$.v[4]',
    next_node varbinary(200) '$.b[5]',
    deadline datetime2(6) '$.v[6]',
    reason nvarchar(max) '$.v[7]',
    since datetime2(6) '$.v[8]',
    weight bigint '$.v[9]',
    labels nvarchar(max) '$.v[10]',
    group_name varbinary(200) '$.b[11]',
    layout bigint '$.v[12]',
    paused_by nvarchar(200) '$.v[13]',
    pinned_to nvarchar(200) '$.v[14]',
    retired tinyint '$.v[15]',
    failures bigint '$.v[16]',
    avoids nvarchar(max) '$.v[17]',
    moves bigint '$.v[18]',
    revision bigint '$.v[19]'
) AS r
INNER LOOP JOIN {assignments} AS t WITH (ROWLOCK) ON t.daemon = r.daemon;
INSERT INTO {assignments} (daemon, state, node, node_term, generation, next_node, deadline, reason, since, weight, labels, group_name, layout, paused_by, pinned_to, retired, failures, avoids, moves, revision)
SELECT r.daemon, r.state, r.node, r.node_term, r.generation, r.next_node, r.deadline, r.reason, r.since, r.weight, r.labels, r.group_name, r.layout, r.paused_by, r.pinned_to, r.retired, r.failures, r.avoids, r.moves, r.revision
FROM OPENJSON(@P1) WITH (
    daemon varbinary(200) '$.b[0]',
    state nvarchar(16) '$.v[1]',
    node varbinary(200) '$.b[2]',
    node_term bigint '$.v[3]',
    generation bigint '$.v[4]',
    next_node varbinary(200) '$.b[5]',
    deadline datetime2(6) '$.v[6]',
    reason nvarchar(max) '$.v[7]',
    since datetime2(6) '$.v[8]',
    weight bigint '$.v[9]',
    labels nvarchar(max) '$.v[10]',
    group_name varbinary(200) '$.b[11]',
    layout bigint '$.v[12]',
    paused_by nvarchar(200) '$.v[13]',
    pinned_to nvarchar(200) '$.v[14]',
    retired tinyint '$.v[15]',
    failures bigint '$.v[16]',
    avoids nvarchar(max) '$.v[17]',
    moves bigint '$.v[18]',
    revision bigint '$.v[19]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM {assignments} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.daemon = r.daemon)
