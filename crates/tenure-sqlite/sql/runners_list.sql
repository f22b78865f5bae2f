-- The runners that were seen since ?1; ?2 how many.
select node, incarnation, machine, pid, kind, name, state, trouble, every_ms, cycled_ms, advanced_ms, counters,
       started_at as started_us, seen_at as seen_us
from {runners}
where seen_at >= ?1
order by node, incarnation, kind, name
limit ?2
