-- What operators did, the newest first; and the last line that was looked at, by which the search goes on.
-- 1 before which number, 2 how many are looked at, 3 actor, 4 action, 5 subject, each or null for any, 6 how many are found
SELECT a.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.at) AS at_us, a.actor, a.action, a.subject, a.detail,
       f.fits, f.looked, f.found
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT TOP (@P2) l.id, 0 AS created_us,
               CASE
                   WHEN (
                       @P3 IS NULL OR (l.actor = @P3 AND DATALENGTH(l.actor) = DATALENGTH(@P3))
                       OR SUBSTRING(l.actor, 1, DATALENGTH(@P3) / 2 + 2) = @P3 + N' ('
                   )
                    AND (@P4 IS NULL OR (l.action = @P4 AND DATALENGTH(l.action) = DATALENGTH(@P4)))
                    AND (@P5 IS NULL OR (l.subject = @P5 AND DATALENGTH(l.subject) = DATALENGTH(@P5)))
                   THEN 1 ELSE 0
               END AS fits
        FROM {audit} AS l
        WHERE l.id < @P1
        ORDER BY l.id DESC
    ) AS w
) AS f
INNER LOOP JOIN {audit} AS a ON a.id = f.id
WHERE (f.fits = 1 AND f.found <= @P6) OR f.next_id IS NULL
ORDER BY a.id DESC
