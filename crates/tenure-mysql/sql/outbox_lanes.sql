-- Rows of several sources. Their numbers are found by one branch for each source (outbox_lane, outbox_lane_head); all else by
-- number. And what is to be put into the queue, of whatever source: in the same statement, and so by the same snapshot, for a
-- message is in one of the two places, and whoever stands behind it in its source would overtake it. So it is with what is on the list
-- of what has just come, for those who do not read that.
-- $1 the branches, $2 how many of the latter at most, $3 how many of the list
SELECT {outbox_columns}
FROM ($1) AS f
STRAIGHT_JOIN {outbox_pending} AS p ON p.id = f.id
LEFT JOIN {outbox} AS o ON o.id = f.id
LEFT JOIN {outbox_arrivals} AS n ON n.id = f.id
UNION ALL
(
    SELECT {fresh_columns}
    FROM {outbox} AS o FORCE INDEX (fresh)
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
    LIMIT $2
)
UNION ALL
(
    SELECT {fresh_columns}
    FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN {outbox} AS o ON o.id = a.id
    ORDER BY a.id
    LIMIT $3
)
