-- $1 rows
INSERT INTO {runners} (
    node, incarnation, kind, name, machine, pid, state, trouble, every_ms, cycled_ms, advanced_ms, counters
) VALUES $1
ON DUPLICATE KEY UPDATE
    machine = VALUES(machine), pid = VALUES(pid), state = VALUES(state), trouble = VALUES(trouble),
    every_ms = VALUES(every_ms), cycled_ms = VALUES(cycled_ms), advanced_ms = VALUES(advanced_ms),
    counters = VALUES(counters), seen_at = UTC_TIMESTAMP(6)
