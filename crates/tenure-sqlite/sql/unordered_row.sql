from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
where p.lane = '' and p.source_seq = ?1 and p.source_index = ?2 and p.id = ?3
