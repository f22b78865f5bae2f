-- One row per stream with events: its version, and what the writers of one stream queue up on.
IF OBJECT_ID(N'{streams}', N'U') IS NULL
CREATE TABLE {streams} (
    stream  varbinary(500) NOT NULL PRIMARY KEY,
    version bigint NOT NULL
);

ALTER TABLE {streams} SET (LOCK_ESCALATION = DISABLE);

-- Events, for ever. A row never changes. Positions are given out in increasing order, and appear in the order of commits:
-- how a reader goes by them all the same is told in events/horizon.rs. any_id is the event's id once more where its append
-- expected no version: only such an append is known again by its ids alone. Of ids that are null there may be many: hence
-- the condition of the index. bytes is the size of the payload as it stands there, also if someone has shortened it. Pages are cut
-- by it, and readers must find what they got as large at least: of a text it is the number of its UTF-16 units (two bytes each),
-- which is never more than the length of its UTF-8.
IF OBJECT_ID(N'{events}', N'U') IS NULL
CREATE TABLE {events} (
    position       bigint IDENTITY NOT NULL PRIMARY KEY,
    stream         varbinary(500) NOT NULL,
    version        bigint NOT NULL,
    event_id       nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    any_id         nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    type           nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    schema_version int NOT NULL,
    message_id     nvarchar(36) COLLATE Latin1_General_100_BIN2 NULL,
    correlation    nvarchar(250) COLLATE Latin1_General_100_BIN2 NULL,
    causation      nvarchar(250) COLLATE Latin1_General_100_BIN2 NULL,
    headers        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    recorded_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    payload        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes  varbinary(max) NULL,
    bytes          AS CAST(coalesce(DATALENGTH(payload) / 2, DATALENGTH(payload_bytes), 0) AS bigint) PERSISTED,
    CONSTRAINT {prefix}events_stream_version UNIQUE (stream, version)
);

IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'{events}') AND name = N'any_id')
CREATE UNIQUE INDEX any_id ON {events} (any_id) WHERE any_id IS NOT NULL;

ALTER TABLE {events} SET (LOCK_ESCALATION = DISABLE);

-- What transactions that append hold, until they end. Those of our own sessions take one of the first 128 rows, by the number
-- of the session; uses counts how often a row was taken: while it is taken, others see another number than is committed. A
-- user's transaction inserts a row of its own for each append, which is rubbish once it is committed. No position of its holder
-- is at or below floor.
IF OBJECT_ID(N'{append_slots}', N'U') IS NULL
CREATE TABLE {append_slots} (
    slot     bigint IDENTITY(129, 1) NOT NULL PRIMARY KEY,
    uses     bigint NOT NULL,
    floor    bigint NOT NULL,
    holder   bigint NOT NULL,
    taken_at datetime2(6) NOT NULL
);

ALTER TABLE {append_slots} SET (LOCK_ESCALATION = DISABLE);

-- One text, for the setting ends with it.
SET IDENTITY_INSERT {append_slots} ON
INSERT INTO {append_slots} (slot, uses, floor, holder, taken_at)
SELECT n.slot, 0, 0, 0, '1970-01-01'
FROM (
    SELECT CAST(a.[key] AS int) * 16 + CAST(b.[key] AS int) + 1 AS slot
    FROM OPENJSON(N'[0,0,0,0,0,0,0,0]') AS a
    CROSS JOIN OPENJSON(N'[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]') AS b
) AS n
WHERE NOT EXISTS (SELECT 1 FROM {append_slots} AS t WITH (UPDLOCK, HOLDLOCK) WHERE t.slot = n.slot)
SET IDENTITY_INSERT {append_slots} OFF;

-- The state of a stream's entity at one version.
IF OBJECT_ID(N'{snapshots}', N'U') IS NULL
CREATE TABLE {snapshots} (
    stream         varbinary(500) NOT NULL PRIMARY KEY,
    version        bigint NOT NULL,
    type           nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    schema_version int NOT NULL,
    payload        nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    payload_bytes  varbinary(max) NULL,
    taken_at       datetime2(6) NOT NULL
);

-- How far each subscription has come, and how often an operator has moved it.
IF OBJECT_ID(N'{checkpoints}', N'U') IS NULL
CREATE TABLE {checkpoints} (
    name     varbinary(200) NOT NULL PRIMARY KEY,
    position bigint NOT NULL,
    rewinds  bigint NOT NULL DEFAULT 0,
    moved_at datetime2(6) NOT NULL
);

-- Events that a subscription could not handle and went on without.
IF OBJECT_ID(N'{parked}', N'U') IS NULL
CREATE TABLE {parked} (
    subscription varbinary(200) NOT NULL,
    position     bigint NOT NULL,
    stream       varbinary(500) NOT NULL,
    version      bigint NOT NULL,
    type         nvarchar(250) COLLATE Latin1_General_100_BIN2 NOT NULL,
    attempts     int NOT NULL,
    reason       nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    parked_at    datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    PRIMARY KEY (subscription, position)
);
