from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
where p.lane = ?1 and p.source_seq = ?2 and p.source_index = ?3 and p.id > ?4
order by p.id
limit ?5
