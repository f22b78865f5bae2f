-- Daemons by name; null lets all through.
-- $1 node, $2 what the name begins with, $3 the name before the first, $4 limit
SELECT {daemon_columns} FROM {assignments} AS a
WHERE ($1 IS NULL OR a.node = $1 OR a.next_node = $1)
  AND ($2 IS NULL OR LEFT(a.daemon, CHAR_LENGTH($2)) = $2)
  AND ($3 IS NULL OR a.daemon > $3)
ORDER BY a.daemon
LIMIT $4
