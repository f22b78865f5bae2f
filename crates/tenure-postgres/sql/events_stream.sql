-- Events of one stream, and its version, by one snapshot. The first row is there even if no event is.
-- $1 stream, $2 from which version on, $3 how many
SELECT now.version AS actual, {event}
FROM (SELECT coalesce((SELECT version FROM {streams} WHERE stream = $1), 0) AS version) AS now
LEFT JOIN LATERAL (
    SELECT * FROM {events} WHERE stream = $1 AND version {onward} $2 ORDER BY version {order} LIMIT $3
) AS e ON true
ORDER BY e.version {order}
