select payload, payload_bytes from {outbox} where id = ?1
