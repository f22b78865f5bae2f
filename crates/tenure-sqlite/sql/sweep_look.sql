-- Messages by number, with when they were finished: null while they are not. One that was never delivered is not finished.
select o.id, o.created_at,
       case
           when exists (
               select 1 from {outbox_pending} as p
               where (p.lane, p.source_seq, p.source_index, p.id) = (o.lane, o.source_seq, o.source_index, o.id)
           ) then null
           else coalesce(
               d.discarded_at, d.died_at,
               (
                   select case when a.outcome = 'success' then a.at end from {outbox_attempts} as a
                   where a.message = o.id order by a.number desc limit 1
               )
           )
       end,
       d.id is not null, d.discarded_at is not null
from {outbox} as o left join {outbox_dead} as d on d.id = o.id
where o.id > ?1
order by o.id
limit ?2
