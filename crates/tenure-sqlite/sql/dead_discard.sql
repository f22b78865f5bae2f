update {outbox_dead} set discarded_at = ?2, halts = 0 where id = ?1
