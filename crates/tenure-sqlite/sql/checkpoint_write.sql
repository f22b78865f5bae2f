insert into {checkpoints} (name, position, moved_at) values (?1, ?2, ?3)
on conflict (name) do update set position = excluded.position, moved_at = excluded.moved_at
