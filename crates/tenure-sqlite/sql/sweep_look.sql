-- Messages by number, with when they were finished: null while they are not.
select o.id, o.created_at,
       case
           when exists (select 1 from {outbox_pending} as p where p.id = o.id) then null
           else coalesce(
               d.discarded_at, d.died_at,
               (select a.at from {outbox_attempts} as a where a.message = o.id order by a.number desc limit 1),
               o.created_at
           )
       end,
       d.id is not null, d.discarded_at is not null
from {outbox} as o left join {outbox_dead} as d on d.id = o.id
where o.id > ?1
order by o.id
limit ?2
