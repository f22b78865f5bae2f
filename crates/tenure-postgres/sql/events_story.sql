-- Events that share a correlation after a position, until there are enough, or they are large enough together.
-- $1 correlation, $2 after which position, $3 how many
SELECT {event}
FROM (
    SELECT e.*, sum(coalesce(octet_length(e.payload), octet_length(e.payload_bytes), 0))
                    OVER (ORDER BY e.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM {events} AS e
    WHERE e.correlation = $1 AND e.position > $2
    ORDER BY e.position
    LIMIT $3
) AS e
WHERE coalesce(e.bytes_before, 0) < {page_bytes}
ORDER BY e.position
