-- As stats_pending and stats_dead, of the first rows of the queue, nearly the oldest ones, and of the last dead ones; and the newest
-- message of all. How many of the queue were looked at is told: there may be more then. What is not committed yet is passed over.
-- 1 how many at most, each, of the queue, of what is to be put into it, and of the dead
SELECT waits.looked, waits.pending, waits.retrying, waits.oldest_us, waits.now_us, graves.dead, graves.halted_sources, graves.newest
FROM (
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
        SELECT came.id, came.lane, 1, came.due_us, 0
        FROM (
            SELECT TOP (@P1) a.id, {pending_lane_fragment} AS lane, {outbox_due_fragment} AS due_us
            FROM {outbox_arrivals} AS a WITH (READPAST, READCOMMITTEDLOCK)
            LEFT JOIN {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = a.id
            ORDER BY a.id
        ) AS came
        UNION ALL
        SELECT added.id, added.lane, 1, added.due_us, 0
        FROM (
            SELECT TOP (@P1) o.id, {pending_lane_fragment} AS lane, {outbox_due_fragment} AS due_us
            FROM {outbox} AS o WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK)
            WHERE o.fresh IS NOT NULL
            ORDER BY o.fresh DESC, o.id
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
) AS waits
CROSS JOIN (
    SELECT COUNT_BIG(*) AS dead,
           COUNT_BIG(DISTINCT CASE WHEN grave.halts = 1 THEN p.lane END) AS halted_sources,
           (SELECT max(o.id) FROM {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK)) AS newest
    FROM (
        SELECT TOP (@P1) d.id, d.halts
        FROM {outbox_dead} AS d WITH (INDEX (discarded), READPAST, READCOMMITTEDLOCK)
        WHERE d.discarded_at IS NULL
        ORDER BY d.id DESC
    ) AS grave
    LEFT JOIN {outbox_pending} AS p WITH (READPAST, READCOMMITTEDLOCK) ON p.id = grave.id AND grave.halts = 1
) AS graves
