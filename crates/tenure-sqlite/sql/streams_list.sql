-- Streams by name, in a range of names: from ?1 on, below ?2, without ?3; ?4 how many.
select s.stream, s.version, n.version as snapshot
from {streams} as s left join {snapshots} as n on n.stream = s.stream
where s.stream >= ?1 and s.stream < ?2 and s.stream <> ?3
order by s.stream
limit ?4
