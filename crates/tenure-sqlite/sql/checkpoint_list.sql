select c.name, c.position, c.moved_at, (select count(*) from {parked} as p where p.subscription = c.name)
from {checkpoints} as c
order by c.name
