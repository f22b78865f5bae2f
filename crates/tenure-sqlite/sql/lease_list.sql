select {lease}
from {leases} as l
order by name
limit ?1
