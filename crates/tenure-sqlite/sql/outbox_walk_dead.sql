-- The same of what was given up, or decided about; ?9 is a cause.
select d.id, o.created_at, d.fits and {fits}
from (
    select x.id, {state} as fits from {outbox_dead} as x
    where x.id < ?1 and x.id > ?2{which} order by x.id desc limit ?8
) as d left join {outbox} as o on o.id = d.id
order by d.id desc
