-- The queue leads, whatever the planner thinks: its indexes are in the order that is asked for. What is too long for its
-- column is cut, so that no row is a burden before it is refused.
select p.id, p.source, p.due_at, p.attempts, p.forgiven,
       case when octet_length(o.message_id) > 4000 then substr(o.message_id, 1, 1000) else o.message_id end,
       case when octet_length(o.source) > 4000 then substr(o.source, 1, 1000) else o.source end,
       o.source_seq, o.source_index,
       case when octet_length(o.topic) > 4000 then substr(o.topic, 1, 1000) else o.topic end,
       case when octet_length(o.type) > 4000 then substr(o.type, 1, 1000) else o.type end,
       case when octet_length(o.content_type) > 4000 then substr(o.content_type, 1, 1000) else o.content_type end,
       case when octet_length(o.headers) > 65536 then substr(o.headers, 1, 65537) else o.headers end,
       o.created_at, octet_length(o.payload), octet_length(o.payload_bytes),
       case when octet_length(o.payload) <= 16384 then o.payload end,
       case when octet_length(o.payload_bytes) <= 16384 then o.payload_bytes end
from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
