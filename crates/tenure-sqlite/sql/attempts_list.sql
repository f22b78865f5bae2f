select number, at as at_us, outcome, took_us, node, term, error
from {outbox_attempts}
where message = ?1
order by number
limit ?2
