-- $1 consumer, $2 message, $3 fingerprint, $4 why it is refused
INSERT INTO {inbox} (consumer, message_id, fingerprint, refused, accepted_at) VALUES ($1, $2, $3, $4, UTC_TIMESTAMP(6))
