-- The same of what waits, where that is little enough to be sorted by number.
select p.id, o.created_at, p.due_at is not null and {fits}
from (
    select id, due_at from {outbox_pending} where id < ?1 and id > ?2 order by id desc limit ?8
) as p left join {outbox} as o on o.id = p.id
order by p.id desc
