-- A cluster: its nodes, and where its daemons are. Times are microseconds since 1970-01-01 UTC.
--
-- The one row of the first table holds the number of the last change; each row that was changed carries that number. There is
-- one writer at a time, so a row never appears behind a number that a reader has passed.

create table {cluster} (
    id       integer primary key check (id = 1),
    revision integer not null
) strict;

insert into {cluster} (id, revision) values (1, 0);

-- What each node can do. Whether it lives is not said here, but by its lease.
create table {nodes} (
    name        text    not null primary key collate binary,
    incarnation text    not null,
    term        integer not null,
    machine     text    not null,
    pid         integer not null,
    labels      text    not null,
    version     text    not null,
    capacity    integer not null,
    leads       integer not null,
    agents      text    not null,
    leaving     integer not null,
    joined_at   integer not null,
    revision    integer not null
) strict, without rowid;

-- Where each daemon is placed, and why. Its generation is the term of its lease.
create table {assignments} (
    daemon     text    not null primary key collate binary,
    state      text    not null check (state in ('unassigned', 'assigning', 'active', 'revoking')),
    node       text    collate binary,
    node_term  integer,
    generation integer,
    next_node  text    collate binary,
    deadline   integer,
    reason     text    not null,
    since      integer not null,
    weight     integer not null,
    labels     text    not null,
    group_name text    collate binary,
    layout     integer,
    paused_by  text,
    pinned_to  text,
    retired    integer not null,
    failures   integer not null,
    avoids     text    not null,
    moves      integer not null,
    revision   integer not null,
    check ((node is null) = (node_term is null)),
    check ((group_name is null) = (layout is null))
) strict, without rowid;

create index "{prefix}assignments_revision" on {assignments} (revision, daemon);
create index "{prefix}assignments_node" on {assignments} (node) where node is not null;
create index "{prefix}assignments_next_node" on {assignments} (next_node) where next_node is not null;
create index "{prefix}assignments_group" on {assignments} (group_name) where group_name is not null;
