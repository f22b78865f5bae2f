-- $1 names of groups
SELECT {daemon_columns} FROM {assignments} AS a WHERE a.group_name IN ($1)
