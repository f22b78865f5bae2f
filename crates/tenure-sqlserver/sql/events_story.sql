-- Events that share a correlation, until there are enough, or they are large enough together.
-- 1 correlation, 2 after which position, 3 how many, 4 how many bytes
SELECT {event_columns}
FROM (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P3) v.position, v.bytes
        FROM {events} AS v WITH (INDEX (correlation))
        WHERE v.correlation IS NOT NULL
          AND v.correlation = @P1 AND DATALENGTH(v.correlation) = DATALENGTH(@P1)
          AND v.position > @P2
        ORDER BY v.position
    ) AS sized
) AS page
INNER LOOP JOIN {events} AS e ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P4
ORDER BY e.position
