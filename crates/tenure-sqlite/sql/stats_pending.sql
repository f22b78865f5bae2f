-- What waits, of those what waits for its time, what has failed before, and what stands still behind a dead message.
select count(due_at),
       coalesce(sum(attempts = 0 and due_at > ?1), 0),
       coalesce(sum(attempts > 0 and due_at is not null), 0),
       count(*) - count(due_at)
from {outbox_pending}
