-- Events of one stream, until there are enough, or they are large enough together, and its version, by one snapshot. The
-- first row is there even if no event is.
-- $1 stream, $2 from which version on, $3 how many
SELECT now.version AS actual, {event}
FROM (SELECT coalesce((SELECT version FROM {streams} WHERE stream = $1), 0) AS version) AS now
LEFT JOIN LATERAL (
    SELECT e.*, sum(coalesce(octet_length(e.payload), octet_length(e.payload_bytes), 0))
                    OVER (ORDER BY e.version {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM {events} AS e
    WHERE e.stream = $1 AND e.version {onward} $2
    ORDER BY e.version {order}
    LIMIT $3
) AS e ON coalesce(e.bytes_before, 0) < {page_bytes}
ORDER BY e.version {order}
