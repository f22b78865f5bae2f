select content_type, headers, payload, payload_bytes from {outbox} where id = ?1
