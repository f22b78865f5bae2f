-- The numbers of messages of every state, or only of dispatched ones; and the last row that was looked at, by which the search goes
-- on. All by one look at the table: between two of them rows come and go, and pages would have gaps.
-- $1 before which number, $2 after which, $3 how many are looked at, $4 to $8 the filter, $9 how many are found, $10 only
-- dispatched ones
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT o.id,
               CASE
                   WHEN {outbox_fits_fragment}
                    AND ($10 = 0 OR (o.fresh IS NULL AND p.id IS NULL AND n.id IS NULL AND d.id IS NULL))
                   THEN 1 ELSE 0
               END AS fits
        FROM {outbox} AS o FORCE INDEX (PRIMARY)
        LEFT JOIN {outbox_pending} AS p ON p.id = CASE WHEN $10 = 1 AND {outbox_fits_fragment} THEN o.id END
        LEFT JOIN {outbox_arrivals} AS n ON n.id = CASE WHEN $10 = 1 AND p.id IS NULL AND {outbox_fits_fragment} THEN o.id END
        LEFT JOIN {outbox_dead} AS d ON d.id = CASE WHEN $10 = 1 AND p.id IS NULL AND {outbox_fits_fragment} THEN o.id END
        WHERE o.id < $1 AND o.id > $2
        ORDER BY o.id DESC
        LIMIT $3
    ) AS w
    WINDOW walked AS (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING)
) AS f
LEFT JOIN {outbox} AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= $9) OR f.next_id IS NULL
ORDER BY f.id DESC
