-- What waits, of those what waits for its time, what has failed before; and since when the message waits that waits for
-- longest among those that could have gone. What stands still behind a dead message could not. What is not committed yet is
-- passed over.
SELECT COUNT_BIG(*) AS pending,
       coalesce(sum(CASE WHEN o.attempts = 0 AND {outbox_due_fragment} > clock.now_us THEN 1 ELSE 0 END), 0) AS delayed_rows,
       coalesce(sum(CASE WHEN o.attempts > 0 THEN 1 ELSE 0 END), 0) AS retrying,
       min(
           CASE WHEN h.lane IS NULL AND (o.attempts > 0 OR {outbox_due_fragment} <= clock.now_us)
           THEN DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)) END
       ) AS oldest_us,
       max(clock.now_us) AS now_us
FROM (SELECT {now_fragment}) AS clock
CROSS JOIN {outbox} AS o WITH (INDEX (queue), READPAST, READCOMMITTEDLOCK)
LEFT JOIN (
    SELECT DISTINCT x.lane
    FROM {outbox_dead} AS d
    INNER JOIN {outbox} AS x WITH (READPAST, READCOMMITTEDLOCK) ON x.id = d.id
    WHERE d.halts = 1 AND d.discarded_at IS NULL AND x.lane IS NOT NULL
) AS h ON h.lane = o.lane
WHERE o.lane IS NOT NULL AND o.queued = 1
