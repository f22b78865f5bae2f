-- Events of one stream, until there are enough, or they are large enough together, and its version. The first row is there even
-- if no event is. The stream's row is read first, and events only up to the version that stands there: they were committed with
-- it. (Without versions of rows the two are read one after the other, and more may have come in between.)
-- 1 stream, 2 from which version on, 3 how many, 4 how many bytes
SELECT coalesce(s.version, 0) AS actual, {event_columns}
FROM (SELECT 1 AS one) AS always
LEFT JOIN {streams} AS s ON s.stream = @B1
OUTER APPLY (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.version ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.version, v.bytes
        FROM {events} AS v
        WHERE v.stream = @B1 AND v.version >= @P2 AND v.version <= s.version
        ORDER BY v.version ASC
    ) AS sized
) AS page
LEFT JOIN {events} AS e ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P4
ORDER BY e.version ASC
OPTION (FORCE ORDER)
