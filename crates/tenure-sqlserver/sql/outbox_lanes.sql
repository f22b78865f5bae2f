-- Rows of several sources. Their numbers are found by one branch for each source (outbox_lane, outbox_lane_head); all else by
-- number. And what is to be put into the queue, of whatever source: in the same statement, and so by the same snapshot where rows
-- are versioned, for a message is in one of the two places, and whoever stands behind it in its source would overtake it. For the
-- same reason no row is passed over for being locked: one that is committed may be locked for a moment still.
-- So it is with what is on the list of what has just come, for those who do not read that.
-- 1 the branches, 2 how many of the latter at most, 3 how many of the list
SELECT {outbox_columns}
FROM (@P1) AS f
INNER LOOP JOIN {outbox_pending} AS p ON p.id = f.id
LEFT LOOP JOIN {outbox} AS o ON o.id = f.id
LEFT LOOP JOIN {outbox_arrivals} AS n ON n.id = f.id
UNION ALL
SELECT fresh.* FROM (
    SELECT TOP (@P2) {fresh_columns}
    FROM {outbox} AS o WITH (INDEX (fresh))
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
) AS fresh
UNION ALL
SELECT listed.* FROM (
    SELECT TOP (@P3) {fresh_columns}
    FROM {outbox_arrivals} AS a
    INNER LOOP JOIN {outbox} AS o ON o.id = a.id
    ORDER BY a.id
) AS listed
