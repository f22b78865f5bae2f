-- Notes a refusal, unless the message was settled before: by an effect, or by an earlier refusal.
insert into {inbox} (consumer, message_id, refused, accepted_at)
values (?1, ?2, ?3, ?4)
on conflict (consumer, message_id) do nothing
