-- Rows of further sources, in order: the first one of each source is its head. And what is to be put into the queue, as
-- outbox_lanes. No row is passed over for being locked: see there.
-- 1 after which source, 2 which to leave out, 3 how many rows, 4 how many of the latter at most, 5 how many of the list, as
-- outbox_lanes
SELECT page.lane, page.queued, page.due_us, page.id
FROM (
    SELECT known.lane, known.queued, known.due_us, known.id, known.place_a, known.place_b
    FROM (
        SELECT TOP (@P3) p.lane, p.queued, p.due_us, p.id, p.place_a, p.place_b
        FROM {outbox_pending} AS p WITH (INDEX (queue))
        WHERE p.lane > @B1
          AND NOT EXISTS (SELECT 1 FROM OPENJSON(@B2) WITH (lane varbinary(500) '$') AS left_out WHERE left_out.lane = p.lane)
        ORDER BY p.lane, p.place_a, p.place_b, p.id
    ) AS known
    UNION ALL
    SELECT fresh.lane, 3, 0, fresh.id, 0, 0
    FROM (
        SELECT TOP (@P4) {pending_lane_fragment} AS lane, o.id
        FROM {outbox} AS o WITH (INDEX (fresh))
        WHERE o.fresh IS NOT NULL
        ORDER BY o.fresh DESC, o.id
    ) AS fresh
    UNION ALL
    SELECT listed.lane, 3, 0, listed.id, 0, 0
    FROM (
        SELECT TOP (@P5) {pending_lane_fragment} AS lane, o.id
        FROM {outbox_arrivals} AS a
        INNER LOOP JOIN {outbox} AS o ON o.id = a.id
        ORDER BY a.id
    ) AS listed
) AS page
ORDER BY page.lane, page.place_a, page.place_b, page.id
