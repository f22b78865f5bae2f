-- The same of dead messages that nobody has decided about.
-- $1 before which number, $2 after which, $3 how many are looked at, $4 to $8 the filter, $9 how many are found
SELECT {listed_columns}
FROM (
    SELECT {walked_columns}
    FROM (
        SELECT q.id, CASE WHEN o.id IS NOT NULL AND {outbox_fits_fragment} THEN 1 ELSE 0 END AS fits
        FROM (
            SELECT d.id
            FROM {outbox_dead} AS d FORCE INDEX (discarded)
            WHERE d.discarded_at IS NULL AND d.id < $1 AND d.id > $2
            ORDER BY d.id DESC
            LIMIT $3
        ) AS q
        LEFT JOIN {outbox} AS o ON o.id = q.id
    ) AS w
    WINDOW walked AS (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING)
) AS f
LEFT JOIN {outbox} AS o ON o.id = f.id
WHERE (f.fits = 1 AND f.found <= $9) OR f.next_id IS NULL
ORDER BY f.id DESC
