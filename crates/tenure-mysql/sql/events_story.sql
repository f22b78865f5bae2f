-- Events that share a correlation, until there are enough, or they are large enough together.
-- $1 correlation, $2 after which position, $3 how many, $4 how many bytes
SELECT {event_columns}
FROM (
    SELECT sized.position,
           SUM(sized.bytes) OVER (ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (
        SELECT v.position, v.bytes
        FROM {events} AS v FORCE INDEX (correlation)
        WHERE v.correlation = $1 AND v.position > $2
        ORDER BY v.position
        LIMIT $3
    ) AS sized
) AS page
STRAIGHT_JOIN {events} AS e ON e.position = page.position
WHERE COALESCE(page.bytes_before, 0) < $4
ORDER BY e.position
