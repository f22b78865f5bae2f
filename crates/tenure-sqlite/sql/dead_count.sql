-- How many dead messages fit, counted up to ?8 of ?9 that are looked at; ?10 is a cause.
with w as materialized (
    select d.id from {outbox_dead} as d
    where d.discarded_at is null{cause} and d.id between ?1 and ?2 order by d.id limit ?9
)
select (
           select count(*)
           from (select 1 from w cross join {outbox} as o on o.id = w.id where {fits} limit ?8)
       ),
       (select count(*) from w)
