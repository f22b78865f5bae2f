-- Rows without a source that are due, in the order in which they became so. What is not committed yet is passed over.
-- 1 2 after which moment and number, 3 how many
SELECT TOP (@P3) {outbox_columns}
FROM {outbox_pending} AS p WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
LEFT LOOP JOIN {outbox} AS o ON o.id = p.id
LEFT LOOP JOIN {outbox_arrivals} AS n ON n.id = p.id
WHERE p.lane = 0x
  AND (p.place_a > @P1 OR (p.place_a = @P1 AND p.place_b = 0 AND p.id > @P2))
  AND p.place_a <= DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
ORDER BY p.lane, p.place_a, p.place_b, p.id
