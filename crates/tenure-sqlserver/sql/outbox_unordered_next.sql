-- The next rows without a source that will be due.
-- 1 how many
SELECT TOP (@P1) p.place_a AS due_us, p.id
FROM {outbox_pending} AS p WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
WHERE p.lane = 0x AND p.place_a > DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY p.lane, p.place_a, p.place_b, p.id
