where p.source is null and p.due_at > ?1 and p.due_at <= ?2
order by p.due_at, p.id
limit ?3
