-- The sources that stand on a stretch of the index, and how many of its rows each has. The index alone is read, and no more of it
-- than is said: a source with a million rows fills the stretch, and what comes behind it is found from its name on.
-- $1 after which source, $2 how many rows
SELECT s.lane, count(*) AS stretch_rows
FROM (
    SELECT p.lane
    FROM {outbox_pending} AS p FORCE INDEX (queue)
    WHERE p.lane > $1
    ORDER BY p.lane, p.place_a, p.place_b, p.id
    LIMIT $2
) AS s
GROUP BY s.lane
