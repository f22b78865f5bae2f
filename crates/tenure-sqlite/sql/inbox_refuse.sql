insert into {inbox} (consumer, message_id, refused, accepted_at)
values (?1, ?2, ?3, ?4)
on conflict (consumer, message_id) do update set refused = coalesce({inbox}.refused, excluded.refused)
