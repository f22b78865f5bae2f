-- Puts a checkpoint (?1) to any place (?2), and counts that.
insert into {checkpoints} (name, position, moved_at, rewinds) values (?1, ?2, ?3, 1)
on conflict (name) do update set
    position = excluded.position, moved_at = excluded.moved_at, rewinds = rewinds + 1
