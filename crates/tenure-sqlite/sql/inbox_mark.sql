-- A message's mark: that it took effect, or why it is refused (?4).
insert into {inbox} (consumer, message_id, fingerprint, refused, accepted_at) values (?1, ?2, ?3, ?4, ?5)
