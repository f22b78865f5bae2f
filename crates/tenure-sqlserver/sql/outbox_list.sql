-- The numbers of messages of every state, or only of dispatched ones; and the last row that was looked at, by which the search goes
-- on. All by one look at the table: between two of them rows come and go, and pages would have gaps.
-- 1 before which number, 2 after which, 3 how many are looked at, 4 to 8 the filter, 9 how many are found, 10 only
-- dispatched ones
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT TOP (@P3) o.id,
               CASE
                   WHEN {outbox_fits_fragment}
                    AND (@P10 = 0 OR (
                        o.fresh IS NULL
                        AND NOT EXISTS (SELECT 1 FROM {outbox_pending} AS p WHERE p.id = o.id)
                        AND NOT EXISTS (SELECT 1 FROM {outbox_arrivals} AS n WHERE n.id = o.id)
                        AND NOT EXISTS (SELECT 1 FROM {outbox_dead} AS d WHERE d.id = o.id)
                    ))
                   THEN 1 ELSE 0
               END AS fits
        FROM {outbox} AS o
        WHERE o.id < @P1 AND o.id > @P2
        ORDER BY o.id DESC
    ) AS w
) AS f
LEFT LOOP JOIN {outbox} AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= @P9) OR f.next_id IS NULL
ORDER BY f.id DESC
