select number, at, outcome, took_us, node, term, error
from {outbox_attempts}
where message = ?1
order by number
limit ?2
