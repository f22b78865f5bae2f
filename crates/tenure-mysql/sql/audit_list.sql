-- What operators did, the newest first; and the last line that was looked at, by which the search goes on.
-- $1 before which number, $2 how many are looked at, $3 actor, $4 action, $5 subject, each or null for any, $6 how many are found
SELECT a.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', a.at) AS at_us, a.actor, a.action, a.subject, a.detail,
       f.fits, f.looked, f.found
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT l.id,
               CASE
                   WHEN ($3 IS NULL OR l.actor = $3 OR left(l.actor, char_length($3) + 2) = concat($3, ' ('))
                    AND ($4 IS NULL OR l.action = $4)
                    AND ($5 IS NULL OR l.subject = $5)
                   THEN 1 ELSE 0
               END AS fits
        FROM {audit} AS l FORCE INDEX (PRIMARY)
        WHERE l.id < $1
        ORDER BY l.id DESC
        LIMIT $2
    ) AS w
    WINDOW walked AS (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING)
) AS f
STRAIGHT_JOIN {audit} AS a ON a.id = f.id
WHERE (f.fits = 1 AND f.found <= $6) OR f.next_id IS NULL
ORDER BY a.id DESC
