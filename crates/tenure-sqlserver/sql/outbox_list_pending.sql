-- The same of what is in the queue, and of what is to be put into it. What another hand gave another number there than 1 is seen
-- once a relay has put it into the queue.
-- 1 before which number, 2 after which, 3 how many are looked at, 4 to 8 the filter, 9 how many are found
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND {outbox_fits_fragment} THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT TOP (@P3) either.id
            FROM (
                SELECT waiting.id
                FROM (
                    SELECT TOP (@P3) p.id
                    FROM {outbox_pending} AS p
                    WHERE p.id < @P1 AND p.id > @P2 AND p.queued = 1
                    ORDER BY p.id DESC
                ) AS waiting
                UNION
                SELECT came.id
                FROM (
                    SELECT TOP (@P3) a.id
                    FROM {outbox_arrivals} AS a
                    WHERE a.id < @P1 AND a.id > @P2
                    ORDER BY a.id DESC
                ) AS came
                UNION
                SELECT added.id
                FROM (
                    SELECT TOP (@P3) n.id
                    FROM {outbox} AS n WITH (INDEX (fresh))
                    WHERE n.fresh IS NOT NULL AND n.fresh = 1 AND n.id < @P1 AND n.id > @P2
                    ORDER BY n.id DESC
                ) AS added
            ) AS either
            ORDER BY either.id DESC
        ) AS q
        LEFT LOOP JOIN {outbox} AS o ON o.id = q.id
    ) AS w
) AS f
LEFT LOOP JOIN {outbox} AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC
