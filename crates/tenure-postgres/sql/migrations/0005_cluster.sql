-- One row: the number of the last change to the cluster. Whoever changes anything below holds it, so changes happen one
-- after another, and a row that carries a number never appears behind one that a reader has passed.
CREATE TABLE {cluster} (
    id       integer PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO {cluster} (id, revision) VALUES (1, 0);

-- What each node can do. Whether it lives is not said here, but by its lease.
CREATE TABLE {nodes} (
    name        text COLLATE "C" PRIMARY KEY,
    incarnation text NOT NULL,
    term        bigint NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    labels      text NOT NULL,
    version     text NOT NULL,
    capacity    bigint NOT NULL,
    leads       boolean NOT NULL,
    agents      text NOT NULL,
    leaving     boolean NOT NULL,
    joined_at   timestamptz NOT NULL,
    revision    bigint NOT NULL
);

-- Where each daemon is placed, and why. Its generation is the term of its lease.
CREATE TABLE {assignments} (
    daemon     text COLLATE "C" PRIMARY KEY,
    state      text NOT NULL CHECK (state IN ('unassigned', 'assigning', 'active', 'revoking')),
    node       text COLLATE "C",
    node_term  bigint,
    generation bigint,
    next_node  text COLLATE "C",
    deadline   timestamptz,
    reason     text NOT NULL,
    since      timestamptz NOT NULL,
    weight     bigint NOT NULL,
    labels     text NOT NULL,
    group_name text COLLATE "C",
    layout     bigint,
    paused_by  text,
    pinned_to  text,
    retired    boolean NOT NULL,
    failures   bigint NOT NULL,
    avoids     text NOT NULL,
    moves      bigint NOT NULL,
    revision   bigint NOT NULL,
    CHECK ((node IS NULL) = (node_term IS NULL)),
    CHECK ((group_name IS NULL) = (layout IS NULL))
);
CREATE INDEX "{prefix}assignments_revision" ON {assignments} (revision, daemon);
CREATE INDEX "{prefix}assignments_node" ON {assignments} (node) WHERE node IS NOT NULL;
CREATE INDEX "{prefix}assignments_next_node" ON {assignments} (next_node) WHERE next_node IS NOT NULL;
CREATE INDEX "{prefix}assignments_group" ON {assignments} (group_name) WHERE group_name IS NOT NULL;
