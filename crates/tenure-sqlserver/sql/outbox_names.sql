-- The sources that stand on a stretch of the index, and how many of its rows each has. The index alone is read, and no more of it
-- than is said: a source with a million rows fills the stretch, and what comes behind it is found from its name on.
-- 1 after which source, 2 which to leave out, 3 how many rows
SELECT s.lane, COUNT_BIG(*) AS stretch_rows
FROM (
    SELECT TOP (@P3) p.lane
    FROM {outbox_pending} AS p WITH (INDEX (queue))
    WHERE p.lane > @B1
      AND NOT EXISTS (SELECT 1 FROM OPENJSON(@B2) WITH (lane varbinary(500) '$') AS left_out WHERE left_out.lane = p.lane)
    ORDER BY p.lane, p.place_a, p.place_b, p.id
) AS s
GROUP BY s.lane
