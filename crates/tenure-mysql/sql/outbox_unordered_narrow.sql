-- The same, only moment and number: whoever drains a part picks among them.
-- $1 $2 after which moment and number, $3 how many
SELECT p.place_a AS due_us, p.id
FROM {outbox_pending} AS p FORCE INDEX (queue)
WHERE p.lane = X''
  AND (p.place_a > $1 OR (p.place_a = $1 AND p.place_b = 0 AND p.id > $2))
  AND p.place_a <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
ORDER BY p.lane, p.place_a, p.place_b, p.id
LIMIT $3
