-- What a subscription has put aside, the oldest first.
-- $1 name, $2 after which position, $3 how many
SELECT position, stream, version, type, attempts, reason,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', parked_at) AS parked_us
FROM {parked} FORCE INDEX (PRIMARY)
WHERE subscription = $1 AND position > $2
ORDER BY position
LIMIT $3
