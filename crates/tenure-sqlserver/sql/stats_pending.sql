-- What waits, of those what waits for its time, what has failed before; and since when the message waits that waits for
-- longest among those that could have gone. What stands still behind a dead message could not. What is to be put into the
-- queue waits too. A message that was tried waits since it was due first; what has no message any more does not count. What is not
-- committed yet is passed over.
SELECT COUNT_BIG(*) AS pending,
       coalesce(sum(CASE WHEN w.attempts = 0 AND w.due_us > clock.now_us THEN 1 ELSE 0 END), 0) AS delayed_rows,
       coalesce(sum(CASE WHEN w.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
       min(
           CASE WHEN h.lane IS NULL AND (w.attempts > 0 OR w.due_us <= clock.now_us)
           THEN nullif(CASE WHEN w.attempts > 0 THEN {outbox_due_fragment} ELSE w.due_us END, 0) END
       ) AS oldest_us,
       max(clock.now_us) AS now_us
FROM (SELECT {now_fragment}) AS clock
CROSS JOIN (
    SELECT p.id, p.lane, p.due_us, p.attempts
    FROM {outbox_pending} AS p WITH (READPAST, READCOMMITTEDLOCK)
    INNER JOIN {outbox} AS there WITH (READPAST, READCOMMITTEDLOCK) ON there.id = p.id
    WHERE p.queued = 1
    UNION ALL
    SELECT o.id, {pending_lane_fragment}, {outbox_due_fragment}, 0
    FROM {outbox_arrivals} AS a WITH (READPAST, READCOMMITTEDLOCK)
    INNER JOIN {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = a.id
    UNION ALL
    SELECT o.id, {pending_lane_fragment}, {outbox_due_fragment}, 0
    FROM {outbox} AS o WITH (INDEX (fresh), READPAST, READCOMMITTEDLOCK)
    WHERE o.fresh IS NOT NULL
) AS w
LEFT JOIN (
    SELECT DISTINCT x.lane
    FROM {outbox_dead} AS d
    INNER JOIN {outbox_pending} AS x WITH (READPAST, READCOMMITTEDLOCK) ON x.id = d.id
    WHERE d.halts = 1 AND d.discarded_at IS NULL AND x.queued = 2
) AS h ON h.lane = w.lane
LEFT JOIN {outbox} AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.id = w.id AND w.attempts > 0
