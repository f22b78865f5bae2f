-- The next rows without a source that will be due.
-- 1 how many
SELECT TOP (@P1) o.place_a AS due_us, o.id
FROM {outbox} AS o WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
WHERE o.lane = 0x AND o.place_a > DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY o.lane, o.place_a, o.place_b, o.id
