select {lease}
from {leases} as l
where name = ?1
