where p.source is null and p.due_at <= ?1
order by p.due_at, p.id
limit ?2
