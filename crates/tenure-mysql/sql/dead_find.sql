-- Dead messages in order, and of each whether it is among those that are meant.
-- $1 after which number, $2 up to which number, $3 how many are looked at, $4 to $8 the filter
SELECT q.id, CASE WHEN o.id IS NOT NULL AND {outbox_fits_fragment} THEN 1 ELSE 0 END AS fits
FROM (
    SELECT d.id
    FROM {outbox_dead} AS d FORCE INDEX (discarded)
    WHERE d.discarded_at IS NULL AND d.id > $1 AND d.id <= $2
    ORDER BY d.id
    LIMIT $3
) AS q
LEFT JOIN {outbox} AS o ON o.id = q.id
ORDER BY q.id
