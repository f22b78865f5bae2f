-- $1 number, $2 after how many microseconds
UPDATE {outbox}
SET attempts = attempts + 1, next_at = UTC_TIMESTAMP(6) + INTERVAL $2 MICROSECOND
WHERE id = $1
