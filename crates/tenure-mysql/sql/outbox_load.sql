-- $1 number, $2 the largest payload to carry
SELECT octet_length(payload) AS text_size, octet_length(payload_bytes) AS bytes_size,
       CASE WHEN octet_length(payload) <= $2 THEN payload END AS payload,
       CASE WHEN octet_length(payload_bytes) <= $2 THEN payload_bytes END AS payload_bytes
FROM {outbox}
WHERE id = $1
