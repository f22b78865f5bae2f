-- The same of what is in the queue, and of what is to be put into it. What another hand gave another number there than 1 is seen
-- once a relay has put it into the queue.
-- $1 before which number, $2 after which, $3 how many are looked at, $4 to $8 the filter, $9 how many are found
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND {outbox_fits_fragment} THEN 1 ELSE 0 END AS fits
        FROM (
            (
                SELECT p.id
                FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
                WHERE p.id < $1 AND p.id > $2 AND p.queued = 1
                ORDER BY p.id DESC
                LIMIT $3
            )
            UNION
            (
                SELECT a.id
                FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
                WHERE a.id < $1 AND a.id > $2
                ORDER BY a.id DESC
                LIMIT $3
            )
            UNION
            (
                SELECT n.id
                FROM {outbox} AS n FORCE INDEX (fresh)
                WHERE n.fresh = 1 AND n.id < $1 AND n.id > $2
                ORDER BY n.id DESC
                LIMIT $3
            )
            ORDER BY 1 DESC
            LIMIT $3
        ) AS q
        LEFT JOIN {outbox} AS o ON o.id = q.id
    ) AS w
    WINDOW walked AS (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING)
) AS f
LEFT JOIN {outbox} AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= $9) OR f.next_id IS NULL
ORDER BY f.id DESC
