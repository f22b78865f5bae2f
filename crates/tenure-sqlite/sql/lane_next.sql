-- The next source, and when its head is due.
select source, due_at
from {outbox_pending}
where source > ?1
order by source, source_seq, source_index, id
limit 1
