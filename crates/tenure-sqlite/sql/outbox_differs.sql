-- What the message with this id says otherwise, by its number; 0 when it says the same. Parameters as in
-- outbox_enqueue.sql.
select case
    when source is not ?2 then 1
    when source_seq is not ?3 or source_index is not ?4 then 2
    when topic is not ?5 then 3
    when type is not ?6 then 4
    when payload is not ?11 or payload_bytes is not ?12 then 5
    when content_type is not ?7 then 6
    when headers is not ?8 then 7
    else 0
end
from {outbox}
where message_id = ?1
