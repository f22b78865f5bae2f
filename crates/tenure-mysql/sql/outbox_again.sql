-- $1 number, $2 after how many microseconds
UPDATE {outbox_pending}
SET attempts = attempts + 1,
    place_a = CASE
        WHEN lane = X'' THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + $2 ELSE place_a
    END,
    due_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + $2
WHERE id = $1
