-- What has just come, in the order of its numbers, and what was missed of it. And what is to be put into the queue, as outbox_lanes.
-- And whether there is anything in lanes. All by one snapshot.
-- $1 after which number, $2 how many, $3 $4 what was missed: all before this number, and these, $5 how many of that, $6 how many of
-- what is to be put into the queue, $7 whether each is looked at for what is in its lane
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
    SELECT {arrival_columns}
    FROM {outbox_arrivals} AS a FORCE INDEX (PRIMARY)
    LEFT JOIN {outbox} AS o ON o.id = a.id
    WHERE a.id < $3 OR a.id IN ($4)
    ORDER BY a.id
    LIMIT $5
)
UNION ALL
(
    SELECT {fresh_columns}
    FROM {outbox} AS o FORCE INDEX (fresh)
    WHERE o.fresh IS NOT NULL
    ORDER BY o.fresh DESC, o.id
    LIMIT $6
)
UNION ALL
(
    SELECT p.id, X'01' AS lane, 6 AS queued, 0, 0, 0, '', NULL, 0, 0, '', '', NULL, NULL, 0, 0, NULL, NULL
    FROM {outbox_pending} AS p FORCE INDEX (PRIMARY)
    LIMIT 1
)
