-- What the loops of each process say of themselves.
IF OBJECT_ID(N'{runners}', N'U') IS NULL
CREATE TABLE {runners} (
    node        varbinary(200) NOT NULL,
    incarnation nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    kind        nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    name        varbinary(200) NOT NULL,
    machine     nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    pid         bigint NOT NULL,
    state       nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    trouble     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    every_ms    bigint NOT NULL,
    cycled_ms   bigint NULL,
    advanced_ms bigint NULL,
    counters    nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    started_at  datetime2(6) NOT NULL,
    seen_at     datetime2(6) NOT NULL,
    PRIMARY KEY (node, incarnation, kind, name)
);

-- What dead messages have in common. Nothing is known of those that died before.
IF COL_LENGTH(N'{outbox_dead}', N'cause') IS NULL
ALTER TABLE {outbox_dead} ADD
    cause bigint NOT NULL DEFAULT 0;

IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'{outbox_dead}') AND name = N'cause')
CREATE INDEX cause ON {outbox_dead} (cause, id) WHERE discarded_at IS NULL;

-- Following a story. Only events that have a correlation are in it.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'{events}') AND name = N'correlation')
CREATE INDEX correlation ON {events} (correlation, position) WHERE correlation IS NOT NULL;
