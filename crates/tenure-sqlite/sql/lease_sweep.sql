-- Rows recorded for others (?1 is this store's own name) that nobody has touched for as long as they were said to live.
-- ?2 is the wall clock; on the same start of the machine (?3) its steady clock (?4) tells the row's time instead.
select {lease}
from {leases} as l
where (backend <> ?1 or origin_term is not null)
  and released_at is null
  and expires_at <= case when clock_boot = ?3 and clock_us <= ?4 then renewed_at + (?4 - clock_us) else ?2 end
order by name
limit ?5
