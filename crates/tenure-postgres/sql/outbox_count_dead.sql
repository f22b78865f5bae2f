-- How many dead messages there are, counted up to $5 of $6 that are looked at.
-- $1 topic, $2 source, $3 type, $4 id, each or null for any; $5 how many, $6 how many are looked at, $7 from when on or null,
-- $8 until before when or null, $9 cause
WITH w AS MATERIALIZED (
    SELECT d.id FROM {outbox_dead} AS d WHERE d.discarded_at IS NULL{cause} ORDER BY d.id LIMIT $6
)
SELECT (SELECT count(*) FROM (
            SELECT 1 FROM w JOIN {outbox} AS o ON o.id = w.id WHERE {dead_filter} LIMIT $5
        ) AS few) AS dead,
       (SELECT count(*) FROM w) AS looked
