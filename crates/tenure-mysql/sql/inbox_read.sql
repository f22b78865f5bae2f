-- What is there already: a locking read, which sees what is committed now, whatever snapshot the transaction has.
-- $1 consumer, $2 message
SELECT fingerprint, refused FROM {inbox} WHERE consumer = $1 AND message_id = $2 LOCK IN SHARE MODE
