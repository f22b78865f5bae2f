-- What has just come, in the order of its numbers. And what is to be put into the queue, as outbox_lanes. And whether there is
-- anything in lanes: then this is not to be gone by, but arrivals_check. All by one snapshot.
-- $1 after which number, $2 how many, $3 how many of what is to be put into the queue
(
    SELECT {arrival_columns}
    FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
    LEFT JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id > $1
    ORDER BY a.id
    LIMIT $2
)
UNION ALL
(
    SELECT {fresh_columns}
    FROM {outbox} AS o FORCE INDEX (fresh)
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
    LIMIT $3
)
UNION ALL
(
    SELECT p.id, X'01' AS lane, 6 AS queued, 0, 0, 0, '', NULL, 0, 0, '', '', NULL, NULL, 0, 0, NULL, NULL
    FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
    LIMIT 1
)
