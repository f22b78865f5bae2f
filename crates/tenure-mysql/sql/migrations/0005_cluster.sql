-- One row: the number of the last change to the cluster. Whoever changes anything below holds it, so changes happen one
-- after another, and a row that carries a number never appears behind one that a reader has passed.
CREATE TABLE IF NOT EXISTS {cluster} (
    id       int PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
INSERT IGNORE INTO {cluster} (id, revision) VALUES (1, 0);

-- What each node can do. Whether it lives is not said here, but by its lease.
CREATE TABLE IF NOT EXISTS {nodes} (
    name        varchar(200) PRIMARY KEY,
    incarnation varchar(64) NOT NULL,
    term        bigint NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    labels      text NOT NULL,
    version     varchar(200) NOT NULL,
    capacity    bigint NOT NULL,
    leads       tinyint NOT NULL,
    agents      mediumtext NOT NULL,
    leaving     tinyint NOT NULL,
    joined_at   datetime(6) NOT NULL,
    revision    bigint NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Where each daemon is placed, and why. Its generation is the term of its lease.
CREATE TABLE IF NOT EXISTS {assignments} (
    daemon     varchar(200) PRIMARY KEY,
    state      varchar(16) NOT NULL CHECK (state IN ('unassigned', 'assigning', 'active', 'revoking')),
    node       varchar(200),
    node_term  bigint,
    generation bigint,
    next_node  varchar(200),
    deadline   datetime(6),
    reason     text NOT NULL,
    since      datetime(6) NOT NULL,
    weight     bigint NOT NULL,
    labels     text NOT NULL,
    group_name varchar(200),
    layout     bigint,
    paused_by  varchar(200),
    pinned_to  varchar(200),
    retired    tinyint NOT NULL,
    failures   bigint NOT NULL,
    avoids     text NOT NULL,
    moves      bigint NOT NULL,
    revision   bigint NOT NULL,
    KEY revision_daemon (revision, daemon),
    KEY node (node),
    KEY next_node (next_node),
    KEY group_name (group_name),
    CHECK ((node IS NULL) = (node_term IS NULL)),
    CHECK ((group_name IS NULL) = (layout IS NULL))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
