-- The outbox and the inbox. Times are microseconds since 1970-01-01 UTC.
--
-- A message never changes. A narrow row in the queue stands for each one that is not finished; the trigger puts it there,
-- so that any program's insert of topic, type and payload is enough. Nothing here refuses a bad row: the relay parks it
-- with a reason. Payloads stand last, so that what stands before them is read without reading through a large one.

create table {outbox} (
    id            integer primary key autoincrement,
    message_id    text    not null collate nocase unique default (
        lower(
            hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
            || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
        )
    ),
    source        text    collate binary,
    source_seq    integer not null default 0,
    source_index  integer not null default 0,
    topic         text    not null,
    type          text    not null,
    content_type  text,
    headers       text,
    deliver_at    integer,
    -- In whole milliseconds, which is what every version of SQLite can tell; cut and not rounded, for no row may be due
    -- in the future. A day as a number is exact to 0.02 ms.
    created_at    integer not null default (
        cast((julianday('now') - 2440587.5) * 86400000 + 0.05 as integer) * 1000
    ),
    -- What orders it in the queue. What cannot be a source (see the relay's limits) orders nothing, so that it can hold
    -- up nothing. Computed when it is read, never stored.
    lane          text    collate binary generated always as (
        case
            when length(cast(source as blob)) between 1 and 500
                and source_index between -2147483648 and 2147483647
            then source
            else ''
        end
    ) virtual,
    payload       text,
    payload_bytes blob
) strict;

-- due_at is null while the message is dead and its source stands still behind it. One tree holds the queue, in the order in
-- which it is read: a message enters it and leaves it by one change. Who knows only the number asks the outbox for the rest
-- of the key.
create table {outbox_pending} (
    lane         text    not null collate binary,
    source_seq   integer not null,
    source_index integer not null,
    id           integer not null,
    due_at       integer,
    attempts     integer not null default 0,
    forgiven     integer not null default 0,
    primary key (lane, source_seq, source_index, id)
) strict, without rowid;

create index "{prefix}outbox_pending_due" on {outbox_pending} (due_at, id) where lane = '';

create trigger "{prefix}outbox_enqueued" after insert on {outbox}
begin
    insert into {outbox_pending} (lane, source_seq, source_index, id, due_at)
    values (new.lane, new.source_seq, new.source_index, new.id, coalesce(new.deliver_at, new.created_at));
end;

-- No foreign key: attempts are deleted with their message.
create table {outbox_attempts} (
    message integer not null,
    number  integer not null,
    at      integer not null,
    outcome text    not null,
    took_us integer not null,
    node    text    not null,
    term    integer,
    error   text,
    primary key (message, number)
) strict, without rowid;

create table {outbox_dead} (
    id           integer primary key,
    source       text    collate binary,
    died_at      integer not null,
    outcome      text    not null,
    reason       text,
    attempts     integer not null,
    halts        integer not null default 0,
    discarded_at integer
) strict;

create index "{prefix}outbox_dead_live" on {outbox_dead} (id) where discarded_at is null;

create table {inbox} (
    consumer    text    not null collate binary,
    message_id  text    not null collate nocase,
    fingerprint text,
    refused     text,
    accepted_at integer not null,
    primary key (consumer, message_id)
) strict, without rowid;

create index "{prefix}inbox_accepted_at" on {inbox} (accepted_at);

-- Who deletes messages deletes what stands for them.
create trigger "{prefix}outbox_deleted" after delete on {outbox}
begin
    delete from {outbox_pending}
    where lane = old.lane and source_seq = old.source_seq and source_index = old.source_index and id = old.id;
    delete from {outbox_dead} where id = old.id;
    delete from {outbox_attempts} where message = old.id;
end;
