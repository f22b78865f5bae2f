-- The row with a number, or else the one before it; by which a moment is found, for numbers rise nearly as time does.
-- $1 number
SELECT o.id, coalesce(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.created_at), 0) AS created_us
FROM {outbox} AS o FORCE INDEX (PRIMARY)
WHERE o.id <= $1
ORDER BY o.id DESC
LIMIT 1
