-- ?1 the message's id, or null for one by chance; ?2 source; ?3, ?4 its place there; ?5 topic; ?6 type; ?7 content type;
-- ?8 headers as an object of JSON; ?9 how long to hold it back, in microseconds; ?10 the time now, or null; ?11 the payload
-- as text or ?12 as bytes. The database's own time is cut to the millisecond (see the table). A message that is there already is not inserted again.
insert into {outbox} (
    message_id, source, source_seq, source_index, topic, type, content_type, headers, deliver_at, created_at, payload,
    payload_bytes
)
values (
    coalesce(?1, lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
    )),
    ?2, ?3, ?4, ?5, ?6, ?7, ?8,
    case when ?9 > 0
        then ?9 + coalesce(?10, cast((julianday('now') - 2440587.5) * 86400000 + 0.05 as integer) * 1000)
    end,
    coalesce(?10, cast((julianday('now') - 2440587.5) * 86400000 + 0.05 as integer) * 1000),
    ?11, ?12
)
on conflict (message_id) do nothing
