-- The row with a number, or else the one before it; by which a moment is found, for numbers rise nearly as time does.
-- 1 number
SELECT TOP (1) o.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us
FROM {outbox} AS o
WHERE o.id <= @P1
ORDER BY o.id DESC
