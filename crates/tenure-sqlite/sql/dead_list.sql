-- Dead messages that fit, by number from ?1 to ?2.
select d.id
from {outbox_dead} as d cross join {outbox} as o on o.id = d.id
where d.discarded_at is null
  and d.id between ?1 and ?2
  and (?3 is null or o.topic = ?3)
  and (?4 is null or o.source = ?4)
  and (?5 is null or o.type = ?5)
order by d.id
limit ?6
