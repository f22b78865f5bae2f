-- As stats_pending and stats_dead, of the first rows of the queue, nearly the oldest ones, and of the last dead ones; and the newest
-- message of all. How many of the queue were looked at is told: there may be more then.
-- $1 how many at most, each, of the queue, of what is to be put into it, and of the dead
SELECT waits.looked, waits.pending, waits.retrying, waits.oldest_us, waits.now_us, graves.dead, graves.halted_sources, graves.newest
FROM (
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
            SELECT a.id, {pending_lane_fragment}, 1, {outbox_due_fragment}, 0
            FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
            LEFT JOIN {outbox} AS o ON o.id = a.id
            ORDER BY a.id
            LIMIT $1
        )
        UNION ALL
        (
            SELECT o.id, {pending_lane_fragment}, 1, {outbox_due_fragment}, 0
            FROM {outbox} AS o FORCE INDEX (fresh)
            WHERE o.fresh IS NOT NULL
            ORDER BY o.fresh DESC, o.id
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
) AS waits
CROSS JOIN (
    SELECT count(*) AS dead,
           count(DISTINCT CASE WHEN grave.halts = 1 THEN p.lane END) AS halted_sources,
           (SELECT max(o.id) FROM {outbox} AS o) AS newest
    FROM (
        SELECT d.id, d.halts
        FROM {outbox_dead} AS d FORCE INDEX (discarded)
        WHERE d.discarded_at IS NULL
        ORDER BY d.id DESC
        LIMIT $1
    ) AS grave
    LEFT JOIN {outbox_pending} AS p ON p.id = grave.id AND grave.halts = 1
) AS graves
