-- How many are dead, and how many sources stand still behind one, of the last ones only; and the newest message of all.
-- 1 how many at most
SELECT COUNT_BIG(*) AS dead,
       COUNT_BIG(DISTINCT CASE WHEN grave.halts = 1 THEN p.lane END) AS halted,
       (SELECT max(o.id) FROM {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK)) AS newest
FROM (
    SELECT TOP (@P1) d.id, d.halts
    FROM {outbox_dead} AS d WITH (INDEX (discarded), READPAST, READCOMMITTEDLOCK)
    WHERE d.discarded_at IS NULL
    ORDER BY d.id DESC
) AS grave
LEFT JOIN {outbox_pending} AS p WITH (READPAST, READCOMMITTEDLOCK) ON p.id = grave.id AND grave.halts = 1
