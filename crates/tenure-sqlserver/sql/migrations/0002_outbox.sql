-- Messages. Any program may insert one: topic, type and payload are enough. Nothing about its content is checked here, so
-- that no such insert fails for it: a row that cannot be delivered is parked with a reason.
--
-- fresh is the queue's, and no business of who inserts: a row that another program has inserted has it, until a relay puts the
-- message into the queue. From then on the row never changes.
--
-- A source is a text here, because anyone inserts it; the queue goes by its bytes (of UTF-8), as for all names. Ids are compared without regard to case, as UUIDs are.
IF OBJECT_ID(N'{outbox}', N'U') IS NULL
CREATE TABLE {outbox} (
    id            bigint IDENTITY NOT NULL PRIMARY KEY,
    message_id    nvarchar(64) COLLATE Latin1_General_100_CI_AS NOT NULL DEFAULT CONVERT(nvarchar(36), NEWID()),
    source        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    source_seq    bigint NOT NULL DEFAULT 0,
    source_index  int NOT NULL DEFAULT 0,
    topic         nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    type          nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    payload       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes varbinary(max) NULL,
    content_type  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    headers       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    deliver_at    datetime2(6) NULL,
    created_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    fresh         tinyint NULL DEFAULT 1,
    INDEX message_id UNIQUE (message_id),
    INDEX fresh (fresh, id)
);

ALTER TABLE {outbox} SET (LOCK_ESCALATION = DISABLE);

-- The queue: what is not finished, and nothing else; to finish a message is to delete its narrow row here. queued is 1 for what
-- waits, 2 for a dead message that its source stands still behind. The index has the order in which the queue is read: a
-- source's rows by their place; what has no source, or one that cannot be a source and so may hold up nothing, under the empty
-- name by the moment at which it is due. Moments are microseconds since 1970. No foreign key: only the store itself writes here;
-- what no relay could ever finish is refused.
IF OBJECT_ID(N'{outbox_pending}', N'U') IS NULL
CREATE TABLE {outbox_pending} (
    id       bigint NOT NULL PRIMARY KEY,
    lane     varbinary(500) NOT NULL,
    place_a  bigint NOT NULL,
    place_b  int NOT NULL,
    queued   tinyint NOT NULL DEFAULT 1,
    due_us   bigint NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    forgiven int NOT NULL DEFAULT 0,
    INDEX queue (lane, place_a, place_b, id),
    CHECK (queued IN (1, 2)),
    CHECK (attempts >= 0 AND forgiven >= 0)
);

ALTER TABLE {outbox_pending} SET (LOCK_ESCALATION = DISABLE);

-- Every attempt, for ever or until retention takes it with its message. No foreign key: only the store itself writes here.
IF OBJECT_ID(N'{outbox_attempts}', N'U') IS NULL
CREATE TABLE {outbox_attempts} (
    message bigint NOT NULL,
    number  int NOT NULL,
    at      datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    outcome nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    took_us bigint NOT NULL,
    node    nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    term    bigint NULL,
    error   nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    PRIMARY KEY (message, number)
);

ALTER TABLE {outbox_attempts} SET (LOCK_ESCALATION = DISABLE);

-- Messages that were given up, and what an operator decided about them.
IF OBJECT_ID(N'{outbox_dead}', N'U') IS NULL
CREATE TABLE {outbox_dead} (
    id           bigint NOT NULL PRIMARY KEY,
    died_at      datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    outcome      nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    reason       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    attempts     int NOT NULL,
    halts        tinyint NOT NULL,
    discarded_at datetime2(6) NULL,
    INDEX discarded (discarded_at, id)
);

-- What receivers have applied or refused.
IF OBJECT_ID(N'{inbox}', N'U') IS NULL
CREATE TABLE {inbox} (
    consumer    varbinary(200) NOT NULL,
    message_id  nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    fingerprint nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    refused     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    accepted_at datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    PRIMARY KEY (consumer, message_id),
    INDEX accepted_at (accepted_at)
);

ALTER TABLE {inbox} SET (LOCK_ESCALATION = DISABLE);
