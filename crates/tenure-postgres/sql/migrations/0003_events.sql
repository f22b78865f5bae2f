-- One row per stream with events: its version, and what the writers of one stream queue up on. Room is left on each page,
-- so that a new version is a HOT update: no index is touched.
CREATE TABLE {streams} (
    stream  text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 80);

-- Events, for ever. A row never changes. The sequence has a name of its own, because writers and readers look into it;
-- it must hand out numbers one by one (CACHE 1), and an append fails loudly when it does not.
CREATE TABLE {events} (
    position       bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME {events_sequence} CACHE 1) PRIMARY KEY,
    stream         text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    event_id       uuid NOT NULL,
    type           text NOT NULL,
    schema_version integer NOT NULL,
    message_id     uuid,
    correlation    text,
    causation      text,
    headers        text,
    recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    any_version    boolean NOT NULL,
    payload        text,
    payload_bytes  bytea
);
CREATE UNIQUE INDEX "{prefix}events_stream_version" ON {events} (stream, version);
-- Only an append without an expected version is known again by its ids alone; all others need no index for it.
CREATE UNIQUE INDEX "{prefix}events_event_id" ON {events} (event_id) WHERE any_version;

-- The state of a stream's entity at one version.
CREATE TABLE {snapshots} (
    stream         text COLLATE "C" PRIMARY KEY,
    version        bigint NOT NULL,
    type           text NOT NULL,
    schema_version integer NOT NULL,
    payload        text,
    payload_bytes  bytea,
    taken_at       timestamptz NOT NULL
);

-- How far each subscription has come.
CREATE TABLE {checkpoints} (
    name     text COLLATE "C" PRIMARY KEY,
    position bigint NOT NULL,
    moved_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Events that a subscription could not handle and went on without.
CREATE TABLE {parked} (
    subscription text COLLATE "C" NOT NULL,
    position     bigint NOT NULL,
    stream       text COLLATE "C" NOT NULL,
    version      bigint NOT NULL,
    type         text NOT NULL,
    reason       text NOT NULL,
    attempts     integer NOT NULL,
    parked_at    timestamptz NOT NULL,
    PRIMARY KEY (subscription, position)
);
