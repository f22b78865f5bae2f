-- $1 names
SELECT {daemon_columns} FROM {assignments} AS a WHERE a.daemon IN ($1)
