-- Events of one stream, until there are enough, or they are large enough together, and its version, by one snapshot. The
-- first row is there even if no event is.
-- $1 stream, $2 from which version on, $3 how many, $4 how many bytes
SELECT now.version AS actual, {event_columns}
FROM (SELECT COALESCE((SELECT version FROM {streams} WHERE stream = $1), 0) AS version) AS now
LEFT JOIN (
    SELECT sized.position,
           SUM(sized.bytes) OVER (ORDER BY sized.version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
               AS bytes_before
    FROM (
        SELECT position, version, bytes FROM {events}
        WHERE stream = $1 AND version >= $2 ORDER BY version ASC LIMIT $3
    ) AS sized
) AS page ON COALESCE(page.bytes_before, 0) < $4
LEFT JOIN {events} AS e ON e.position = page.position
ORDER BY e.version ASC
