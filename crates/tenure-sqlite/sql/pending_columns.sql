-- A row of the queue and its message. The queue leads, whatever the planner thinks: it is in the order that is asked for.
select p.id, p.lane, p.due_at, p.attempts, p.forgiven, o.message_id, o.source, o.source_seq, o.source_index, o.topic,
       o.type, o.content_type, o.headers, o.created_at, octet_length(o.payload), octet_length(o.payload_bytes),
       case when octet_length(o.payload) <= {inline_max} then o.payload end,
       case when octet_length(o.payload_bytes) <= {inline_max} then o.payload_bytes end
