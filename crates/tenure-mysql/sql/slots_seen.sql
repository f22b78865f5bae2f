-- The same rows as they stand there, committed or not. Read third.
SELECT slot, uses, floor, holder, TIMESTAMPDIFF(MICROSECOND, taken_at, UTC_TIMESTAMP(6)) AS lasts_us
FROM {append_slots}
WHERE uses > 0
