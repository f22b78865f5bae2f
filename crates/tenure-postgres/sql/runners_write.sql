-- Writes what the runners of one process say, and forgets those that it does not speak of any more.
-- $1 node, $2 incarnation, $3 machine, $4 pid; lists: $5 kinds, $6 names, $7 states, $8 troubles, $9 how often in
-- milliseconds, $10 and $11 how long ago they went round and got on, $12 counters
WITH said AS MATERIALIZED (
    SELECT * FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[])
        AS s (kind, name, state, trouble, every_ms, cycled_ms, advanced_ms, counters)
), gone AS (
    DELETE FROM {runners} AS r
    WHERE r.node = $1 AND r.incarnation = $2
      AND NOT EXISTS (SELECT 1 FROM said AS s WHERE s.kind = r.kind AND s.name = r.name)
)
INSERT INTO {runners} AS r (
    node, incarnation, kind, name, machine, pid, state, trouble, every_ms, cycled_ms, advanced_ms, counters,
    started_at, seen_at
)
SELECT $1, $2, s.kind, s.name, $3, $4, s.state, s.trouble, s.every_ms, s.cycled_ms, s.advanced_ms, s.counters,
       clock_timestamp(), clock_timestamp()
FROM said AS s
ORDER BY s.kind, s.name
ON CONFLICT (node, incarnation, kind, name) DO UPDATE SET
    machine = excluded.machine, pid = excluded.pid, state = excluded.state, trouble = excluded.trouble,
    every_ms = excluded.every_ms, cycled_ms = excluded.cycled_ms, advanced_ms = excluded.advanced_ms,
    counters = excluded.counters, seen_at = excluded.seen_at
