delete from {outbox_dead} where id = ?1
