insert into {runners} (
    node, incarnation, kind, name, machine, pid, state, trouble, every_ms, cycled_ms, advanced_ms, counters,
    started_at, seen_at
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)
on conflict (node, incarnation, kind, name) do update set
    machine = excluded.machine, pid = excluded.pid, state = excluded.state, trouble = excluded.trouble,
    every_ms = excluded.every_ms, cycled_ms = excluded.cycled_ms, advanced_ms = excluded.advanced_ms,
    counters = excluded.counters, seen_at = excluded.seen_at
