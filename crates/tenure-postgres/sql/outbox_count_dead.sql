-- How many dead messages there are.
-- $1 topic, $2 source, $3 type, $4 id, each or null for any
SELECT count(*) AS dead
FROM {outbox_dead} AS d
JOIN {outbox} AS o ON o.id = d.id
WHERE d.discarded_at IS NULL AND {dead_filter}
