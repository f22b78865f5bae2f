-- What the loops of each process say of themselves.
CREATE TABLE {runners} (
    node        text COLLATE "C" NOT NULL,
    incarnation text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    state       text NOT NULL,
    trouble     text,
    every_ms    bigint NOT NULL,
    cycled_ms   bigint,
    advanced_ms bigint,
    counters    text NOT NULL,
    started_at  timestamptz NOT NULL,
    seen_at     timestamptz NOT NULL,
    PRIMARY KEY (node, incarnation, kind, name)
) WITH (fillfactor = 50);

-- What dead messages have in common. Nothing is known of those that died before.
ALTER TABLE {outbox_dead} ADD COLUMN cause bigint NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS "{prefix}outbox_dead_cause" ON {outbox_dead} (cause, id) WHERE discarded_at IS NULL;

-- Following a story. Only events that have a correlation are in it. It may be made before the migration, CONCURRENTLY, so that
-- nobody waits for it.
CREATE INDEX IF NOT EXISTS "{prefix}events_correlation" ON {events} (correlation, position) WHERE correlation IS NOT NULL;
