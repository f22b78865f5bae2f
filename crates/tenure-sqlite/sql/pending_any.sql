select exists (select 1 from {outbox_pending})
