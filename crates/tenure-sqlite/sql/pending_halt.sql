update {outbox_pending}
set attempts = ?2 + 1, due_at = null
where id = ?1 and attempts = ?2 and due_at is not null and source is not null
