-- What the message with this id says. Texts come as their bytes, for nothing obliges them to be UTF-8.
select cast(source as blob) as source, source_seq, source_index, cast(topic as blob) as topic, cast(type as blob) as type,
       cast(payload as blob) as payload, payload_bytes, cast(content_type as blob) as content_type,
       cast(headers as blob) as headers
from {outbox}
where message_id = ?1
