-- As stats_pending, of the first rows only: nearly the oldest ones. How many were looked at is told, for then there may be more.
-- What is not committed yet is passed over.
-- 1 how many at most, of the queue and of what is to be put into it
SELECT COUNT_BIG(w.id) AS looked,
       coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL THEN 1 ELSE 0 END), 0) AS pending,
       coalesce(sum(CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND w.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
       min(
           CASE WHEN w.queued = 1 AND o.id IS NOT NULL AND h.lane IS NULL AND (w.attempts > 0 OR w.due_us <= clock.now_us)
           THEN nullif(CASE WHEN w.attempts > 0 THEN {outbox_due_fragment} ELSE w.due_us END, 0) END
       ) AS oldest_us,
       max(clock.now_us) AS now_us
FROM (SELECT {now_fragment}) AS clock
LEFT JOIN (
    SELECT waiting.id, waiting.lane, waiting.queued, waiting.due_us, waiting.attempts
    FROM (
        SELECT TOP (@P1) p.id, p.lane, p.queued, p.due_us, p.attempts
        FROM {outbox_pending} AS p WITH (READPAST, READCOMMITTEDLOCK)
        ORDER BY p.id
    ) AS waiting
    UNION ALL
    SELECT added.id, added.lane, 1, added.due_us, 0
    FROM (
        SELECT TOP (@P1) o.id, {pending_lane_fragment} AS lane, {outbox_due_fragment} AS due_us
        FROM {outbox} AS o WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK)
        WHERE o.fresh IS NOT NULL
        ORDER BY o.fresh, o.id
    ) AS added
) AS w ON 1 = 1
LEFT JOIN (
    SELECT DISTINCT x.lane
    FROM (
        SELECT TOP (@P1) d.id, d.halts
        FROM {outbox_dead} AS d WITH (INDEX (discarded), READPAST, READCOMMITTEDLOCK)
        WHERE d.discarded_at IS NULL
        ORDER BY d.id DESC
    ) AS grave
    INNER JOIN {outbox_pending} AS x WITH (READPAST, READCOMMITTEDLOCK) ON x.id = grave.id
    WHERE grave.halts = 1 AND x.queued = 2
) AS h ON h.lane = w.lane
LEFT JOIN {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = w.id
