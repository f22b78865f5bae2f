-- How many are dead, and how many sources stand still behind one, of the last ones only; and the newest message of all.
-- $1 how many at most
SELECT count(*) AS dead,
       count(DISTINCT CASE WHEN grave.halts = 1 THEN p.lane END) AS halted,
       (SELECT max(o.id) FROM {outbox} AS o) AS newest
FROM (
    SELECT d.id, d.halts
    FROM {outbox_dead} AS d FORCE INDEX (discarded)
    WHERE d.discarded_at IS NULL
    ORDER BY d.id DESC
    LIMIT $1
) AS grave
LEFT JOIN {outbox_pending} AS p ON p.id = grave.id AND grave.halts = 1
