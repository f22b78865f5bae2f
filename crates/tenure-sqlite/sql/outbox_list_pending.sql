from {outbox_pending} as p
cross join {outbox} as o on o.id = p.id
left join {outbox_dead} as d on d.id = p.id
where p.id between ?1 and ?2
  and (?3 is null or o.topic = ?3)
  and (?4 is null or o.source = ?4)
  and (?5 is null or o.type = ?5)
  and d.id is null
order by p.id desc
limit ?7
