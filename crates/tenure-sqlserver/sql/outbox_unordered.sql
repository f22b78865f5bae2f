-- Rows without a source that are due, in the order in which they became so. What is not committed yet is passed over.
-- 1 2 after which moment and number, 3 how many
SELECT TOP (@P3) {outbox_columns}
FROM {outbox} AS o WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
WHERE o.lane = 0x
  AND (o.place_a > @P1 OR (o.place_a = @P1 AND o.place_b = 0 AND o.id > @P2))
  AND o.place_a <= DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY o.lane, o.place_a, o.place_b, o.id
