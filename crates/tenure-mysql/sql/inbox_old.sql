-- Notes that are old enough to be forgotten, the oldest first, without a lock.
-- $1 how long a note is kept, in microseconds, $2 how many
SELECT consumer, message_id FROM {inbox} FORCE INDEX (accepted_at)
WHERE accepted_at <= UTC_TIMESTAMP(6) - INTERVAL $1 MICROSECOND
ORDER BY accepted_at
LIMIT $2
