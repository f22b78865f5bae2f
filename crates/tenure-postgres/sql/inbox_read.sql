-- What was noted of a message.
-- $1 consumer, $2 id
SELECT fingerprint::text AS fingerprint, refused
FROM {inbox}
WHERE consumer = $1::text AND message_id = $2::text::uuid
