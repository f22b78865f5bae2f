-- Subscriptions by name after ?1; ?2 how many, ?3 up to how many events that were put aside are counted.
select c.name, c.position, c.moved_at as moved_us,
       (select count(*) from (select 1 from {parked} as p where p.subscription = c.name limit ?3)) as parked
from {checkpoints} as c
where c.name > ?1
order by c.name
limit ?2
