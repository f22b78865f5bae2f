-- Leases by name, in a range of names: from ?2 on, below ?3, without ?4; ?1 how many.
select {lease}
from {leases} as l
where name >= ?2 and name < ?3 and name <> ?4
order by name
limit ?1
