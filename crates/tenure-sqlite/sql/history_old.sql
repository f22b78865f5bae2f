-- Lines of history, the oldest first, and what may become of each: 0 it tells the last term of its lease, 1 it may go, 2 it is
-- young.
-- ?1 after which line, ?2 how many, ?3 what is younger than this moment
select h.id,
       case
           when h.at > ?3 then 2
           when h.term < (select max(l.term) from {lease_history} as l where l.name = h.name) then 1
           else 0
       end
from (select id, name, term, at from {lease_history} where id > ?1 order by id limit ?2) as h
order by h.id
