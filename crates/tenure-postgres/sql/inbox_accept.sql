-- Notes that a message takes effect in this transaction, unless it was noted before. Answers with a row if it is new.
-- Waits for a transaction that notes the same message just now.
-- $1 consumer, $2 id, $3 fingerprint or null
INSERT INTO {inbox} (consumer, message_id, fingerprint, accepted_at)
VALUES ($1::text, $2::text::uuid, $3::text::uuid, clock_timestamp())
ON CONFLICT (consumer, message_id) DO NOTHING
RETURNING consumer
