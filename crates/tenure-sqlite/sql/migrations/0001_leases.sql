-- Leases, their history, the audit trail, and the version of this schema.
-- Times are microseconds since 1970-01-01 UTC. Names compare byte by byte (the collation BINARY is SQLite's own default,
-- said aloud because exclusion depends on it).

create table if not exists {schema} (
    version     integer primary key,
    description text    not null,
    applied_at  integer not null
) strict;

create table {leases} (
    name              text    not null primary key collate binary,
    term              integer not null check (term > 0),
    node              text    not null,
    incarnation       text    not null,
    claim             text    not null,
    renewals          integer not null default 0,
    machine           text    not null,
    pid               integer not null,
    kind              text,
    backend           text    not null,
    acquired_at       integer not null,
    renewed_at        integer not null,
    expires_at        integer not null,
    released_at       integer,
    revoked_at        integer,
    presence          text,
    presence_trust_ms integer,
    -- What the machine's steady clock showed at renewed_at, and which start of the machine it counts from.
    clock_boot        text,
    clock_us          integer
) strict, without rowid;

create table {lease_history} (
    id          integer primary key autoincrement,
    name        text    not null collate binary,
    term        integer not null,
    cause       text    not null,
    node        text    not null,
    incarnation text    not null,
    machine     text    not null,
    pid         integer not null,
    at          integer not null
) strict;

create index "{prefix}lease_history_name_term" on {lease_history} (name, term);

create table {audit} (
    id      integer primary key autoincrement,
    at      integer not null,
    actor   text    not null,
    action  text    not null,
    subject text    not null,
    detail  text    not null
) strict;
