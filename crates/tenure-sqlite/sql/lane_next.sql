-- The next source, and when its head is due.
select lane, due_at
from {outbox_pending}
where lane > ?1
order by lane, source_seq, source_index, id
limit 1
