-- What a subscription has put aside, the oldest first.
-- $1 name, $2 how many, $3 after which position
SELECT position, stream, version, type, reason, attempts::bigint AS attempts,
       (extract(epoch FROM parked_at) * 1000000)::bigint AS parked_us
FROM {parked}
WHERE subscription = $1 AND position > $3
ORDER BY position
LIMIT $2
