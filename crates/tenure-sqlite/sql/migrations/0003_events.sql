-- Events, snapshots and the checkpoints of subscriptions. Times are microseconds since 1970-01-01 UTC.
--
-- There is one writer at a time, so positions rise in the order of commits and a reader that has seen one has seen all below
-- it. A number that was given out is never given out again, whatever is deleted. Payloads stand last, so that what stands
-- before them is read without reading through a large one.

create table {streams} (
    stream  text    not null primary key collate binary,
    version integer not null check (version > 0)
) strict, without rowid;

-- any_version is 1 for what was appended without an expected version: only there a retry is known by the ids alone, so only
-- there they are indexed.
create table {events} (
    position       integer primary key autoincrement,
    stream         text    not null collate binary,
    version        integer not null,
    event_id       text    not null,
    type           text    not null,
    schema_version integer not null,
    message_id     text,
    correlation    text,
    causation      text,
    headers        text,
    recorded_at    integer not null,
    any_version    integer not null,
    payload        text,
    payload_bytes  blob,
    unique (stream, version)
) strict;

create unique index "{prefix}events_any_version" on {events} (event_id) where any_version = 1;

-- One row for each stream that has one, with a number of its own: a large payload does not belong into the tree of keys.
create table {snapshots} (
    stream         text    not null primary key collate binary,
    version        integer not null,
    type           text    not null,
    schema_version integer not null,
    taken_at       integer not null,
    payload        text,
    payload_bytes  blob
) strict;

create table {checkpoints} (
    name     text    not null primary key collate binary,
    position integer not null,
    moved_at integer not null
) strict, without rowid;

create table {parked} (
    subscription text    not null collate binary,
    position     integer not null,
    stream       text    not null,
    version      integer not null,
    type         text    not null,
    attempts     integer not null,
    parked_at    integer not null,
    reason       text    not null,
    primary key (subscription, position)
) strict, without rowid;
