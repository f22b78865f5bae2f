-- Rows without a source that are due, in the order in which they became so.
-- $1 $2 after which moment and number, $3 how many
SELECT {outbox_columns}
FROM {outbox} AS o FORCE INDEX (queue)
WHERE o.lane = X''
  AND (o.place_a > $1 OR (o.place_a = $1 AND o.place_b = 0 AND o.id > $2))
  AND o.place_a <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
ORDER BY o.lane, o.place_a, o.place_b, o.id
LIMIT $3
