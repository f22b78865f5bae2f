-- What was said of late, and the clock.
-- 1 within how many microseconds, 2 how many
SELECT r.node, r.incarnation, r.kind, r.name, r.machine, r.pid, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, DATEDIFF_BIG(MICROSECOND, '1970-01-01', r.started_at) AS started_us,
       DATEDIFF_BIG(MICROSECOND, '1970-01-01', r.seen_at) AS seen_us, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN (
    SELECT TOP (@P2) *
    FROM {runners} WITH (READPAST, READCOMMITTEDLOCK)
    WHERE seen_at >= DATEADD(MICROSECOND, -CAST(@P1 % 60000000 AS int), DATEADD(MINUTE, -CAST(@P1 / 60000000 AS int), @now))
    ORDER BY node, incarnation, kind, name
) AS r ON 1 = 1
ORDER BY r.node, r.incarnation, r.kind, r.name
