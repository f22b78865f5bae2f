select name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
       acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms, clock_boot, clock_us
from {leases}
order by name
limit ?1
