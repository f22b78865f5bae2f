-- What was said of late, and the clock.
-- $1 within how many microseconds, $2 how many
SELECT r.node, r.incarnation, r.kind, r.name, r.machine, r.pid, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', r.started_at) AS started_us,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', r.seen_at) AS seen_us, {now_fragment}
FROM (SELECT 1 AS one) AS always
LEFT JOIN (
    SELECT *
    FROM {runners} FORCE INDEX (PRIMARY)
    WHERE seen_at >= UTC_TIMESTAMP(6) - INTERVAL $1 MICROSECOND
    ORDER BY node, incarnation, kind, name
    LIMIT $2
) AS r ON 1 = 1
ORDER BY r.node, r.incarnation, r.kind, r.name
