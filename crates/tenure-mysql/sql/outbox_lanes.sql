-- Rows of several sources. Their numbers are found by one branch for each source (outbox_lane,
-- outbox_lane_head); all else by number.
-- $1 the branches
SELECT {outbox_columns}
FROM ($1) AS f
STRAIGHT_JOIN {outbox} AS o ON o.id = f.id
