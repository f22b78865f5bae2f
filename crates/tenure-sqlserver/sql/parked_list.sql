-- What a subscription has put aside, the oldest first.
-- 1 name, 2 after which position, 3 how many
SELECT TOP (@P3) position, stream, version, type, attempts, reason, DATEDIFF_BIG(MICROSECOND, '1970-01-01', parked_at) AS parked_us
FROM {parked}
WHERE subscription = @B1 AND position > @P2
ORDER BY position
