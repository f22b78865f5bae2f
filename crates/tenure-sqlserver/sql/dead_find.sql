-- Dead messages in order, and of each whether it is among those that are meant.
-- 1 after which number, 2 up to which number, 3 how many are looked at, 4 to 8 the filter
SELECT q.id, CASE WHEN o.id IS NOT NULL AND {outbox_fits_fragment} THEN 1 ELSE 0 END AS fits
FROM (
    SELECT TOP (@P3) d.id
    FROM {outbox_dead} AS d WITH (INDEX (discarded))
    WHERE d.discarded_at IS NULL AND d.id > @P1 AND d.id <= @P2
    ORDER BY d.id
) AS q
LEFT LOOP JOIN {outbox} AS o ON o.id = q.id
ORDER BY q.id
