-- Rows without a source that are due, in the order in which they became so.
-- $1 $2 after which moment and number, $3 how many
SELECT {outbox_columns}
FROM {outbox_pending} AS p FORCE INDEX (queue)
LEFT JOIN {outbox} AS o ON o.id = p.id
LEFT JOIN {outbox_arrivals} AS n ON n.id = p.id
WHERE p.lane = X''
  AND (p.place_a > $1 OR (p.place_a = $1 AND p.place_b = 0 AND p.id > $2))
  AND p.place_a <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
ORDER BY p.lane, p.place_a, p.place_b, p.id
LIMIT $3
