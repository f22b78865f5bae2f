insert into {parked} (subscription, position, stream, version, type, attempts, parked_at, reason)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (subscription, position) do update
set stream = excluded.stream, version = excluded.version, type = excluded.type, attempts = excluded.attempts,
    parked_at = excluded.parked_at, reason = excluded.reason
