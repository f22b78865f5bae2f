-- Daemons by name; null lets all through.
-- 1 node, 2 what the name begins with, 3 the name before the first, 4 limit
SELECT TOP (@P4) {daemon_columns} FROM {assignments} AS a
WHERE (@B1 IS NULL OR a.node = @B1 OR a.next_node = @B1)
  AND (@B2 IS NULL OR SUBSTRING(a.daemon, 1, DATALENGTH(@B2)) = @B2)
  AND (@B3 IS NULL OR a.daemon > @B3)
ORDER BY a.daemon
