-- Messages. Any program may insert one: topic, type and payload are enough. Nothing about its content is checked here, so
-- that no such insert fails for it: a row that cannot be delivered is parked with a reason.
--
-- fresh is the queue's, and no business of who inserts: a row that another program has inserted has it, until a relay puts the
-- message into the queue. From then on the row never changes.
--
-- Ids are compared without regard to case, as UUIDs are.
CREATE TABLE IF NOT EXISTS {outbox} (
    id            bigint AUTO_INCREMENT PRIMARY KEY,
    message_id    varchar(64) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL DEFAULT (uuid()),
    source        text,
    source_seq    bigint NOT NULL DEFAULT 0,
    source_index  int NOT NULL DEFAULT 0,
    topic         text NOT NULL,
    type          text NOT NULL,
    payload       longtext,
    payload_bytes longblob,
    content_type  text,
    headers       mediumtext,
    deliver_at    datetime(6),
    created_at    datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    fresh         tinyint DEFAULT 1,
    UNIQUE KEY message_id (message_id),
    KEY fresh (fresh)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- The queue: what is not finished, and nothing else; to finish a message is to delete its narrow row here. queued is 1 for what
-- waits, 2 for a dead message that its source stands still behind. The index has the order in which the queue is read: a
-- source's rows by their place; what has no source, or one that cannot be a source and so may hold up nothing, under the empty
-- name by the moment at which it is due. Moments are microseconds since 1970. No foreign key: only the store itself writes here;
-- what no relay could ever finish is refused.
CREATE TABLE IF NOT EXISTS {outbox_pending} (
    id       bigint PRIMARY KEY,
    lane     varbinary(500) NOT NULL,
    place_a  bigint NOT NULL,
    place_b  int NOT NULL,
    queued   tinyint NOT NULL DEFAULT 1,
    due_us   bigint NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    forgiven int NOT NULL DEFAULT 0,
    KEY queue (lane, place_a, place_b, id),
    CHECK (queued IN (1, 2)),
    CHECK (attempts >= 0 AND forgiven >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Every attempt, for ever or until retention takes it with its message. No foreign key: only the store itself writes here.
CREATE TABLE IF NOT EXISTS {outbox_attempts} (
    message bigint NOT NULL,
    number  int NOT NULL,
    at      datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    outcome varchar(16) NOT NULL,
    took_us bigint NOT NULL,
    node    varchar(200) NOT NULL,
    term    bigint,
    error   text,
    PRIMARY KEY (message, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- Messages that were given up, and what an operator decided about them.
CREATE TABLE IF NOT EXISTS {outbox_dead} (
    id           bigint PRIMARY KEY,
    died_at      datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    outcome      varchar(16) NOT NULL,
    reason       text,
    attempts     int NOT NULL,
    halts        tinyint NOT NULL,
    discarded_at datetime(6),
    KEY discarded (discarded_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- What receivers have applied or refused.
CREATE TABLE IF NOT EXISTS {inbox} (
    consumer    varchar(200) NOT NULL,
    message_id  char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fingerprint char(36) CHARACTER SET ascii COLLATE ascii_bin,
    refused     text,
    accepted_at datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (consumer, message_id),
    KEY accepted_at (accepted_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;
