-- Events of all streams after a position, until there are enough, or they are large enough together. Read last; see
-- events/horizon.rs. (Where MariaDB keeps answers, an old one must not be given here.)
-- $1 after which position, $2 how many, $3 how many bytes
SELECT /*M! SQL_NO_CACHE */ {event_columns}
FROM (
    SELECT sized.position,
           SUM(sized.bytes) OVER (ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (SELECT position, bytes FROM {events} WHERE position > $1 ORDER BY position LIMIT $2) AS sized
) AS page
JOIN {events} AS e ON e.position = page.position
WHERE COALESCE(page.bytes_before, 0) < $3
ORDER BY e.position
