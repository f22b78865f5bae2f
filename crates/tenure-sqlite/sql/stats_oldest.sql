-- When the first message was enqueued that could have gone. Numbers rise with time, so the first one is the oldest.
select o.created_at
from {outbox_pending} as p cross join {outbox} as o on o.id = p.id
where (p.attempts > 0 or p.due_at <= ?1)
  and p.due_at is not null
  and (p.source is null or p.source not in (select h.source from {outbox_pending} as h where h.due_at is null))
order by p.id
limit 1
