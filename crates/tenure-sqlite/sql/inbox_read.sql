select fingerprint, refused from {inbox} where consumer = ?1 and message_id = ?2
