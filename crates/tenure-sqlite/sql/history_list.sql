-- Of all leases when ?1 is null, else of one; before line ?3. Two branches, so that each can walk its own index: a condition
-- that covers both cases at once would read the whole history. Within a lease, the order of terms is the order of lines.
select id, name, term, cause, node, incarnation, machine, pid, at as at_us
from (
    select * from (
        select * from {lease_history} where ?1 is null and id < ?3 order by id desc limit ?2
    )
    union all
    select * from (
        select * from {lease_history} where name = ?1 and id < ?3 order by term desc, id desc limit ?2
    )
)
order by id desc
