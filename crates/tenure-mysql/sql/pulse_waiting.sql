-- As stats_pending, of the first rows only: nearly the oldest ones. How many were looked at is told, for then there may be more.
-- $1 how many at most, of the queue and of what is to be put into it
SELECT count(w.id) AS looked,
       coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL THEN 1 ELSE 0 END), 0) AS pending,
       coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND w.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
       min(
           CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND h.lane IS NULL AND (w.attempts > 0 OR w.due_us <= clock.now_us)
           THEN nullif(CASE WHEN w.attempts > 0 THEN {outbox_due_fragment} ELSE w.due_us END, 0) END
       ) AS oldest_us,
       max(clock.now_us) AS now_us
FROM (SELECT {now_fragment}) AS clock
LEFT JOIN (
    (
        SELECT p.id, p.lane, p.queued, p.due_us, p.attempts
        FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
        ORDER BY p.id
        LIMIT $1
    )
    UNION ALL
    (
        SELECT o.id, {pending_lane_fragment}, 1, {outbox_due_fragment}, 0
        FROM {outbox} AS o FORCE INDEX (fresh)
        WHERE o.fresh IS NOT NULL
        ORDER BY o.fresh, o.id
        LIMIT $1
    )
) AS w ON 1 = 1
LEFT JOIN (
    SELECT DISTINCT x.lane
    FROM (
        SELECT d.id, d.halts
        FROM {outbox_dead} AS d FORCE INDEX (discarded)
        WHERE d.discarded_at IS NULL
        ORDER BY d.id DESC
        LIMIT $1
    ) AS grave
    STRAIGHT_JOIN {outbox_pending} AS x ON x.id = grave.id
    WHERE grave.halts = 1 AND x.queued = 2
) AS h ON h.lane = w.lane
LEFT JOIN {outbox} AS o ON o.id = w.id
