-- The next rows without a source that will be due.
-- $1 how many
SELECT p.place_a AS due_us, p.id
FROM {outbox_pending} AS p FORCE INDEX (queue)
WHERE p.lane = X'' AND p.place_a > TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
ORDER BY p.lane, p.place_a, p.place_b, p.id
LIMIT $1
