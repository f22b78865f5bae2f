select position, stream, version, type, attempts, parked_at as parked_us, reason
from {parked}
where subscription = ?1 and position > ?3
order by position
limit ?2
