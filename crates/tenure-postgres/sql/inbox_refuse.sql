-- Notes a refusal, unless the message was settled before: by an effect, or by an earlier refusal. Answers with a row if
-- this one stands. Waits for a transaction that notes the same message just now.
-- $1 consumer, $2 id, $3 reason
INSERT INTO {inbox} (consumer, message_id, refused, accepted_at)
VALUES ($1::text, $2::text::uuid, $3::text, clock_timestamp())
ON CONFLICT (consumer, message_id) DO NOTHING
RETURNING consumer
