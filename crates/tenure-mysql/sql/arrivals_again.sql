-- The same of some by their numbers.
-- $1 numbers, $2 how many of what is to be put into the queue
(
    SELECT {arrival_checked_columns}
    FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
    LEFT JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id IN ($1)
)
UNION ALL
(
    SELECT {fresh_columns}
    FROM {outbox} AS o FORCE INDEX (fresh)
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
    LIMIT $2
)
