select c.name, c.position, c.moved_at as moved_us,
       (select count(*) from {parked} as p where p.subscription = c.name) as parked
from {checkpoints} as c
order by c.name
