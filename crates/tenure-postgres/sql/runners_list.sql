-- The runners that were seen of late, and the clock.
-- $1 within how many microseconds, $2 how many
SELECT r.node, r.incarnation, r.machine, r.pid, r.kind, r.name, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, r.started_at AS started_us, r.seen_at AS seen_us, c.now AS now_us
FROM (SELECT clock_timestamp() AS now) AS c
LEFT JOIN LATERAL (
    SELECT * FROM {runners} AS r
    WHERE r.seen_at >= c.now - $1::bigint * interval '1 microsecond'
    ORDER BY r.node, r.incarnation, r.kind, r.name
    LIMIT $2
) AS r ON true
ORDER BY r.node, r.incarnation, r.kind, r.name
