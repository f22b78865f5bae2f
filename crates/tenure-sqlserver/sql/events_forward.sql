-- Events of one stream, until there are enough, or they are large enough together, and its version, by one reading. The first
-- row is there even if no event is. The stream's row is read first (FORCE ORDER) and held for the rest of the statement: whoever
-- appends to it holds it too.
-- 1 stream, 2 from which version on, 3 how many, 4 how many bytes
SELECT coalesce(s.version, 0) AS actual, {event_columns}
FROM (SELECT 1 AS one) AS always
LEFT JOIN {streams} AS s WITH (REPEATABLEREAD, ROWLOCK) ON s.stream = @B1
LEFT JOIN (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.version, v.bytes
        FROM {events} AS v WITH (READCOMMITTEDLOCK)
        WHERE v.stream = @B1 AND v.version >= @P2
        ORDER BY v.version ASC
    ) AS sized
) AS page ON coalesce(page.bytes_before, 0) < @P4
LEFT JOIN {events} AS e WITH (READCOMMITTEDLOCK) ON e.position = page.position
ORDER BY e.version ASC
OPTION (FORCE ORDER)
