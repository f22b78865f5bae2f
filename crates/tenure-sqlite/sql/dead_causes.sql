-- What dead messages have in common: from cause to cause by the index, whatever number of messages each has.
-- ?1 after which cause, ?2 how many causes, ?3 up to how many messages of each are counted
with recursive walk (cause, n) as (
    select min(cause), 1 from {outbox_dead} where discarded_at is null and cause > ?1
    union all
    select (select min(d.cause) from {outbox_dead} as d where d.discarded_at is null and d.cause > walk.cause), walk.n + 1
    from walk
    where walk.cause is not null and walk.n < ?2
)
select walk.cause,
       (
           select count(*)
           from (select 1 from {outbox_dead} as d where d.discarded_at is null and d.cause = walk.cause limit ?3)
       ),
       (select min(d.id) from {outbox_dead} as d where d.discarded_at is null and d.cause = walk.cause),
       (select max(d.id) from {outbox_dead} as d where d.discarded_at is null and d.cause = walk.cause)
from walk
where walk.cause is not null
order by walk.n
