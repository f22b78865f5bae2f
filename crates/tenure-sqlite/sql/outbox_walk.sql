-- The newest messages, each with whether it fits. Read row by row, and no further than needed.
-- ?1 before which row, ?2 after which, ?3 topic, ?4 source, ?5 type, ?6 from when on, ?7 until before when, each or null;
-- ?8 how many are looked at
select o.id, o.created_at, {fits}{state}
from {outbox} as o
where o.id < ?1 and o.id > ?2
order by o.id desc
limit ?8
