-- Rows of further sources, in order: the first one of each source is its head. Between the sources that are left out the
-- index is sought anew, so what stands behind those is not read. And what is to be put into the queue, as outbox_lanes.
-- $1 after which source, $2 which to leave out, $3 how many rows, $4 how many of the latter at most, $5 how many of the
-- list, as outbox_lanes
(
    SELECT p.lane, p.queued, p.due_us, p.id
    FROM {outbox_pending} AS p FORCE INDEX (queue)
    WHERE p.lane > $1 AND p.lane NOT IN ($2)
    ORDER BY p.lane, p.place_a, p.place_b, p.id
    LIMIT $3
)
UNION ALL
(
    SELECT {pending_lane_fragment} AS lane, 3 AS queued, 0 AS due_us, o.id
    FROM {outbox} AS o FORCE INDEX (fresh)
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
    LIMIT $4
)
UNION ALL
(
    SELECT {pending_lane_fragment} AS lane, 3 AS queued, 0 AS due_us, o.id
    FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN {outbox} AS o ON o.id = a.id
    ORDER BY a.id
    LIMIT $5
)
