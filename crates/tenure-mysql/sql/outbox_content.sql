-- No more of a payload than is asked for, in characters, and how many bytes the whole has.
-- $1 number, $2 how much of it
SELECT o.content_type, o.headers, left(o.payload, $2) AS payload, left(o.payload_bytes, $2) AS payload_bytes,
       coalesce(octet_length(o.payload), octet_length(o.payload_bytes), 0) AS payload_size
FROM {outbox} AS o
WHERE o.id = $1
