w AS MATERIALIZED (
    {walk}
), fit AS MATERIALIZED (
    -- In the order of the walk, and no further than one more than is meant: rows are made as they are asked for.
    SELECT w.id, w.place
    FROM w
    CROSS JOIN LATERAL (SELECT 1 FROM {outbox} AS o WHERE o.id = w.id AND {dead_filter} LIMIT 1) AS fits
    LIMIT $5 + 1
), met AS MATERIALIZED (
    SELECT f.id, f.place FROM fit AS f ORDER BY f.place LIMIT $5
)
