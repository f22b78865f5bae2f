from {outbox} as o
left join {outbox_pending} as p
    on (p.lane, p.source_seq, p.source_index, p.id) = (o.lane, o.source_seq, o.source_index, o.id)
left join {outbox_dead} as d on d.id = o.id
where o.id = ?1
