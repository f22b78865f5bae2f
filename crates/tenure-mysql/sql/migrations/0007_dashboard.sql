-- What the loops of each process say of themselves.
CREATE TABLE IF NOT EXISTS {runners} (
    node        varchar(200) NOT NULL,
    incarnation varchar(64) NOT NULL,
    kind        varchar(16) NOT NULL,
    name        varchar(200) NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    state       text NOT NULL,
    trouble     text,
    every_ms    bigint NOT NULL,
    cycled_ms   bigint,
    advanced_ms bigint,
    counters    text NOT NULL,
    started_at  datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    seen_at     datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    PRIMARY KEY (node, incarnation, kind, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE /*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */;

-- What dead messages have in common. Nothing is known of those that died before.
--
-- Where it is done already MySQL says so by an error, having no IF NOT EXISTS for columns and keys; that one is passed over. So
-- each is a statement of its own.
ALTER TABLE {outbox_dead}
    ADD COLUMN /*M! IF NOT EXISTS */ cause bigint NOT NULL DEFAULT 0;
ALTER TABLE {outbox_dead}
    ADD KEY /*M! IF NOT EXISTS */ cause (discarded_at, cause, id);

-- Following a story.
ALTER TABLE {events}
    ADD KEY /*M! IF NOT EXISTS */ correlation (correlation, position);
