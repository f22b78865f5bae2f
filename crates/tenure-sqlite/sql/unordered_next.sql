select min(due_at) from {outbox_pending} where source is null and due_at > ?1
