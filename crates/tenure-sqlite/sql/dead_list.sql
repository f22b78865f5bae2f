-- Dead messages that fit, by number from ?1 to ?2; ?9 is a cause.
select d.id
from {outbox_dead} as d cross join {outbox} as o on o.id = d.id
where d.discarded_at is null{cause}
  and d.id between ?1 and ?2
  and {fits}
order by d.id
limit ?8
