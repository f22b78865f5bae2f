-- One row: the number of the last change to the cluster. Whoever changes anything below holds it, so changes happen one
-- after another, and a row that carries a number never appears behind one that a reader has passed.
IF OBJECT_ID(N'{cluster}', N'U') IS NULL
CREATE TABLE {cluster} (
    id       int NOT NULL PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);

INSERT INTO {cluster} (id, revision)
SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM {cluster} WITH (UPDLOCK, HOLDLOCK) WHERE id = 1);

-- What each node can do. Whether it lives is not said here, but by its lease.
IF OBJECT_ID(N'{nodes}', N'U') IS NULL
CREATE TABLE {nodes} (
    name        varbinary(200) NOT NULL PRIMARY KEY,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    term        bigint NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    labels      nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    version     nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    capacity    bigint NOT NULL,
    leads       tinyint NOT NULL,
    agents      nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    leaving     tinyint NOT NULL,
    joined_at   datetime2(6) NOT NULL,
    revision    bigint NOT NULL
);

ALTER TABLE {nodes} SET (LOCK_ESCALATION = DISABLE);

-- Where each daemon is placed, and why. Its generation is the term of its lease.
IF OBJECT_ID(N'{assignments}', N'U') IS NULL
CREATE TABLE {assignments} (
    daemon     varbinary(200) NOT NULL PRIMARY KEY,
    state      nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL
               CHECK (state IN (N'unassigned', N'assigning', N'active', N'revoking')),
    node       varbinary(200) NULL,
    node_term  bigint NULL,
    generation bigint NULL,
    next_node  varbinary(200) NULL,
    deadline   datetime2(6) NULL,
    reason     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    since      datetime2(6) NOT NULL,
    weight     bigint NOT NULL,
    labels     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    group_name varbinary(200) NULL,
    layout     bigint NULL,
    paused_by  nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
    pinned_to  nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
    retired    tinyint NOT NULL,
    failures   bigint NOT NULL,
    avoids     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    moves      bigint NOT NULL,
    revision   bigint NOT NULL,
    INDEX revision_daemon (revision, daemon),
    INDEX node (node),
    INDEX next_node (next_node),
    INDEX group_name (group_name),
    CHECK ((node IS NULL AND node_term IS NULL) OR (node IS NOT NULL AND node_term IS NOT NULL)),
    CHECK ((group_name IS NULL AND layout IS NULL) OR (group_name IS NOT NULL AND layout IS NOT NULL))
);

ALTER TABLE {assignments} SET (LOCK_ESCALATION = DISABLE);
