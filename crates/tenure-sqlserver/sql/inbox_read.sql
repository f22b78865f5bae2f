-- What is there already: a read with a lock, which sees what is committed now, whatever snapshot the transaction has.
-- 1 consumer, 2 message
SELECT fingerprint, refused FROM {inbox} WITH (REPEATABLEREAD, ROWLOCK) WHERE consumer = @B1 AND message_id = @P2
