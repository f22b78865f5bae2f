-- $1 consumer, $2 message, $3 why
INSERT INTO {inbox} (consumer, message_id, refused) VALUES ($1, $2, $3)
