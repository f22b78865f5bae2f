-- $1 how long a row is kept, in microseconds, $2 how many
DELETE FROM {inbox}
WHERE accepted_at <= UTC_TIMESTAMP(6) - INTERVAL $1 MICROSECOND
ORDER BY accepted_at
LIMIT $2
