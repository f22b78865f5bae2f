-- One row per name for ever: it is the lease, its entry in the registry, and the memory of its last term.
CREATE TABLE {leases} (
    name              text COLLATE "C" PRIMARY KEY,
    term              bigint NOT NULL,
    node              text NOT NULL,
    incarnation       text NOT NULL,
    claim             text NOT NULL,
    renewals          bigint NOT NULL DEFAULT 0,
    machine           text NOT NULL,
    pid               bigint NOT NULL,
    kind              text,
    backend           text NOT NULL,
    acquired_at       timestamptz NOT NULL,
    renewed_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL,
    released_at       timestamptz,
    revoked_at        timestamptz,
    presence          text,
    presence_trust_ms integer
) WITH (fillfactor = 50); -- Half of each page stays free, so that a renewal is a HOT update: no index is touched.

-- Every change of holder, with its cause.
CREATE TABLE {lease_history} (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL,
    term        bigint NOT NULL,
    cause       text NOT NULL,
    node        text NOT NULL,
    incarnation text NOT NULL,
    machine     text NOT NULL,
    pid         bigint NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX "{prefix}lease_history_name_term" ON {lease_history} (name, term);
CREATE INDEX "{prefix}lease_history_name_id" ON {lease_history} (name, id);

-- What operators did.
CREATE TABLE {audit} (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    detail  text NOT NULL
);

-- Which migrations were applied.
CREATE TABLE {schema} (
    version     integer PRIMARY KEY,
    description text NOT NULL,
    applied_at  timestamptz NOT NULL
);
