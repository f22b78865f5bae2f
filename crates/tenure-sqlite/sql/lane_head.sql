where p.source = ?1
order by p.source_seq, p.source_index, p.id
limit ?2
