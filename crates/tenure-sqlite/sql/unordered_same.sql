where p.source is null and p.due_at = ?1 and p.id > ?2
order by p.id
limit ?3
