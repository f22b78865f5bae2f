where p.source = ?1 and p.source_seq = ?2 and p.source_index = ?3 and p.id > ?4
order by p.id
limit ?5
