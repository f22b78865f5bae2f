-- What the message with this id says. Texts come as their bytes, for nothing obliges them to be UTF-8.
select cast(source as blob), source_seq, source_index, cast(topic as blob), cast(type as blob), cast(payload as blob),
       payload_bytes, cast(content_type as blob), cast(headers as blob)
from {outbox}
where message_id = ?1
