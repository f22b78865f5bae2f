-- Rows of several sources. Their numbers are found by one branch for each source (outbox_lane, outbox_lane_head); all else by
-- number. No row is passed over for being locked: one that is committed may be locked for a moment still, and whoever comes
-- after it in its source would overtake it.
-- 1 the branches
SELECT {outbox_columns}
FROM (@P1) AS f
INNER LOOP JOIN {outbox} AS o ON o.id = f.id
