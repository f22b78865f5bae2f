-- The payload of one message, unless it is above the limit; its size is known without reading it.
-- $1 the row's number, $2 the largest payload, in bytes
SELECT octet_length(payload), octet_length(payload_bytes),
       CASE WHEN octet_length(payload) <= $2 THEN payload END,
       CASE WHEN octet_length(payload_bytes) <= $2 THEN payload_bytes END
FROM {outbox}
WHERE id = $1
