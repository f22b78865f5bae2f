-- Streams by name, and the versions of their snapshots.
-- 1 after which name, 2 from which name on, 3 before which, 4 how many
SELECT TOP (@P4) s.stream, s.version, n.version AS snapshot
FROM {streams} AS s
LEFT LOOP JOIN {snapshots} AS n ON n.stream = s.stream
WHERE s.stream > @B1 AND s.stream >= @B2 AND s.stream < @B3
ORDER BY s.stream
