delete from {outbox_attempts} where message = ?1
