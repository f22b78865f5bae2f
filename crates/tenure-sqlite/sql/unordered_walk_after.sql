-- The same, of later moments.
select due_at, source_seq, source_index, id
from {outbox_pending} indexed by "{prefix}outbox_pending_due"
where lane = '' and due_at > ?1 and due_at <= ?2
order by due_at, id
limit ?3
