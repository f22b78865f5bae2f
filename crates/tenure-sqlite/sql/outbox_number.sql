select id from {outbox} where message_id = ?1
