-- One row when the grant holds, none when it is over. ?1 is the lease, ?2 the term, ?3 the wall clock in microseconds; on
-- the same start of the machine (?4) its steady clock (?5) tells the row's time instead.
select 1
from {leases}
where name = ?1
  and term = ?2
  and released_at is null
  and revoked_at is null
  and expires_at > case when clock_boot = ?4 and clock_us <= ?5 then renewed_at + (?5 - clock_us) else ?3 end
