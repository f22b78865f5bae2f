-- The numbers of messages of every state, or only of dispatched ones; and the last row that was looked at, by which the search goes
-- on. All by one look at the table: between two of them rows come and go, and pages would have gaps.
-- $1 before which number, $2 after which, $3 how many are looked at, $4 to $8 the filter, $9 how many are found, $10 only
-- dispatched ones
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT o.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.created_at) AS created_us,
               CASE
                   WHEN {outbox_fits_fragment}
                    AND ($10 = 0 OR (
                        o.fresh IS NULL
                        AND NOT EXISTS (SELECT 1 FROM {outbox_pending} AS p WHERE p.id = o.id)
                        AND NOT EXISTS (SELECT 1 FROM {outbox_dead} AS d WHERE d.id = o.id)
                    ))
                   THEN 1 ELSE 0
               END AS fits
        FROM {outbox} AS o FORCE INDEX (PRIMARY)
        WHERE o.id < $1 AND o.id > $2
        ORDER BY o.id DESC
        LIMIT $3
    ) AS w
) AS f
WHERE (f.fits = 1 AND f.found <= $9) OR f.next_id IS NULL
ORDER BY f.id DESC
