-- The payload of one message.
-- $1 the row's number
SELECT payload, payload_bytes FROM {outbox} WHERE id = $1
