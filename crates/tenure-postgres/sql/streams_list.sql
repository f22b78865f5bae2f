-- Streams by name, in a range of names.
-- $1 from which name on, $2 below which, $3 the one that is left out, $4 how many
SELECT s.stream, s.version, n.version AS snapshot
FROM {streams} AS s
LEFT JOIN {snapshots} AS n ON n.stream = s.stream
WHERE s.stream >= $1 AND s.stream < $2 AND s.stream <> $3
ORDER BY s.stream
LIMIT $4
