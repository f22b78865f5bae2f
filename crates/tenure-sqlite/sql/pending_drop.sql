delete from {outbox_pending} where id = ?1
