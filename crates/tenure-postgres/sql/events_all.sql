-- Events of all streams after a position, until there are enough, or they are large enough together. Payloads are measured
-- without being unpacked. Read third; see events/horizon.rs.
-- $1 after which position, $2 how many
SELECT {event}
FROM (
    SELECT e.*, sum(coalesce(octet_length(e.payload), octet_length(e.payload_bytes), 0))
                    OVER (ORDER BY e.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM {events} AS e
    WHERE e.position > $1
    ORDER BY e.position
    LIMIT $2
) AS e
WHERE coalesce(e.bytes_before, 0) < {page_bytes}
ORDER BY e.position
