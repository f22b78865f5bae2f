-- 1 number, 2 after how many microseconds
UPDATE {outbox_pending} WITH (ROWLOCK)
SET attempts = attempts + 1,
    due_us = DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) + @P2,
    place_a = CASE WHEN lane = 0x THEN DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) + @P2 ELSE place_a END
WHERE id = @P1
