-- Streams by name, and the versions of their snapshots.
-- $1 after which name, $2 from which name on, $3 before which, $4 how many
SELECT s.stream, s.version, n.version AS snapshot
FROM {streams} AS s FORCE INDEX (PRIMARY)
LEFT JOIN {snapshots} AS n ON n.stream = s.stream
WHERE s.stream > $1 AND s.stream >= $2 AND s.stream < $3
ORDER BY s.stream
LIMIT $4
