-- Notes a refusal: of a message that was accepted in this very transaction, or that nobody has noted. Answers with a row
-- unless another transaction has settled it before.
-- $1 consumer, $2 id, $3 reason
INSERT INTO {inbox} AS i (consumer, message_id, refused, accepted_at)
VALUES ($1::text, $2::text::uuid, $3::text, clock_timestamp())
ON CONFLICT (consumer, message_id) DO UPDATE SET refused = excluded.refused
WHERE i.refused IS NULL AND i.accepted_at >= transaction_timestamp()
RETURNING consumer
