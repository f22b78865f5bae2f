-- Dead messages by number from ?1 to ?2, and of each whether it is among those that are meant; ?8 how many are looked at, ?9 is
-- a cause.
select d.id, exists (select 1 from {outbox} as o where o.id = d.id and {fits})
from {outbox_dead} as d
where d.discarded_at is null{cause} and d.id between ?1 and ?2
order by d.id
limit ?8
