from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
where p.lane = ?1
order by p.source_seq, p.source_index, p.id
limit ?2
