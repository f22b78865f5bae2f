-- $1 consumer, $2 message, $3 what stands for its content, or null
INSERT INTO {inbox} (consumer, message_id, fingerprint) VALUES ($1, $2, $3)
