-- The daemons that an order is about.
-- $1 names, $2 names of groups
SELECT {daemon} FROM {assignments} AS a WHERE a.daemon = ANY ($1) OR a.group_name = ANY ($2)
