-- What changed after a place, by revision and name.
-- $1 revision, $2 the last daemon of that revision that was read, or empty, $3 limit
SELECT {daemon_columns} FROM {assignments} AS a
WHERE a.revision >= $1 AND (a.revision > $1 OR a.daemon > $2)
ORDER BY a.revision, a.daemon
LIMIT $3
