-- $1 for how many microseconds nobody has written them, $2 how many
DELETE FROM {runners}
WHERE seen_at < UTC_TIMESTAMP(6) - INTERVAL $1 MICROSECOND
ORDER BY node, incarnation, kind, name
LIMIT $2
