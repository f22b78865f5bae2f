-- Forgets notes that are old enough still: one that was forgotten since may be there anew. Row by row, as outbox_delete.
-- $1 consumer, $2 messages, $3 how long a note is kept, in microseconds
DELETE i
FROM JSON_TABLE(
    JSON_ARRAY($2), '$[*]' COLUMNS (id char(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$')
) AS asked
STRAIGHT_JOIN {inbox} AS i FORCE INDEX (PRIMARY) ON i.consumer = $1 AND i.message_id = asked.id
WHERE i.accepted_at <= UTC_TIMESTAMP(6) - INTERVAL $3 MICROSECOND
