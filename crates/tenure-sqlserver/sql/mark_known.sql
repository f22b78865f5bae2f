-- What the inbox says of a message, as it is now.
-- 1 consumer, 2 message
SELECT fingerprint, refused FROM {inbox} WITH (REPEATABLEREAD, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2
