select min(due_at)
from {outbox_pending} indexed by "{prefix}outbox_pending_due"
where lane = '' and due_at > ?1
