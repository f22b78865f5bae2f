-- The outbox in numbers, none of which is counted further than ?1 (?2 is now). The queue is looked at in its own order, so
-- what is oldest is known only where all of it could be looked at.
with looked as materialized (
    select lane, id, due_at, attempts from {outbox_pending} limit ?1
), graves as materialized (
    select id, source, halts from {outbox_dead} where discarded_at is null order by id desc limit ?1
), halted as materialized (
    select distinct source from graves where halts and source is not null
), free as materialized (
    select id, due_at, attempts from looked where due_at is not null and lane not in (select source from halted)
)
select (select count(*) from looked) as looked,
       (select count(due_at) from looked) as pending,
       (select count(*) from looked where due_at is not null and attempts > 0) as retrying,
       (select count(*) from graves) as dead,
       (select count(*) from halted) as halted_sources,
       (select max(id) from {outbox}) as newest,
       (
           select min(since)
           from (
               select min(due_at) as since from free where attempts = 0 and due_at <= ?2
               union all
               select min(coalesce(o.deliver_at, o.created_at))
               from (select id from free where attempts > 0 order by id limit 100) as first
               cross join {outbox} as o on o.id = first.id
           )
       ) as oldest_us,
       ?2 as now_us
