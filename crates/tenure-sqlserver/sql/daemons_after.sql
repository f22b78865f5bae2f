-- What changed after a place, by revision and name.
-- 1 revision, 2 the last daemon of that revision that was read, or empty, 3 limit
SELECT TOP (@P3) {daemon_columns} FROM {assignments} AS a
WHERE a.revision >= @P1 AND (a.revision > @P1 OR a.daemon > @B2)
ORDER BY a.revision, a.daemon
