insert into {inbox} (consumer, message_id, fingerprint, accepted_at)
values (?1, ?2, ?3, ?4)
on conflict (consumer, message_id) do nothing
