-- The narrow half of a row without a source, of the same moment: whoever drains a part picks among them.
select due_at, source_seq, source_index, id
from {outbox_pending} indexed by "{prefix}outbox_pending_due"
where lane = '' and due_at = ?1 and id > ?2
order by id
limit ?3
