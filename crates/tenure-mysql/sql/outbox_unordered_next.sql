-- The next rows without a source that will be due.
-- $1 how many
SELECT o.place_a AS due_us, o.id
FROM {outbox} AS o FORCE INDEX (queue)
WHERE o.lane = X'' AND o.place_a > TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
ORDER BY o.lane, o.place_a, o.place_b, o.id
LIMIT $1
