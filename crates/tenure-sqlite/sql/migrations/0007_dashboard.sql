-- What the loops of each process say of themselves.
create table {runners} (
    node        text not null,
    incarnation text not null,
    kind        text not null,
    name        text not null,
    machine     text not null,
    pid         integer not null,
    state       text not null,
    trouble     text,
    every_ms    integer not null,
    cycled_ms   integer,
    advanced_ms integer,
    counters    text not null,
    started_at  integer not null,
    seen_at     integer not null,
    primary key (node, incarnation, kind, name)
) strict, without rowid;

-- What dead messages have in common. Nothing is known of those that died before.
alter table {outbox_dead} add column cause integer not null default 0;

create index "{prefix}outbox_dead_cause" on {outbox_dead} (cause, id) where discarded_at is null;

-- Following a story. Only events that have a correlation are in it.
create index "{prefix}events_correlation" on {events} (correlation, position) where correlation is not null;
