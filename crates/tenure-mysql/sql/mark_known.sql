-- What the inbox says of a message, as it is now.
-- $1 consumer, $2 message
SELECT fingerprint, refused FROM {inbox} WHERE consumer = $1 AND message_id = $2 LOCK IN SHARE MODE
