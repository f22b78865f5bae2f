from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
where p.lane = ?1 and (p.source_seq, p.source_index) > (?2, ?3)
order by p.source_seq, p.source_index, p.id
limit ?4
