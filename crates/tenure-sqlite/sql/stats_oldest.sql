-- Since when the message waits that waits for longest among those that could have gone (?1 is now). What was never tried
-- is due since it was enqueued, or since the time that was set for it then; what was tried is due at another time.
-- Numbers rise with time, nearly, so the oldest of those is among the first.
select min(since)
from (
    select min(p.due_at) as since
    from {outbox_pending} as p
    where p.attempts = 0 and p.due_at <= ?1
      and p.lane not in (select h.lane from {outbox_pending} as h where h.due_at is null)
    union all
    select min(coalesce(o.deliver_at, o.created_at))
    from (
        select p.id
        from {outbox_pending} as p
        where p.attempts > 0 and p.due_at is not null
          and p.lane not in (select h.lane from {outbox_pending} as h where h.due_at is null)
        order by p.id
        limit 100
    ) as first cross join {outbox} as o on o.id = first.id
)
