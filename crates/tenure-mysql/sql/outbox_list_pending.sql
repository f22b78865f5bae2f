-- What is in the queue, and what is to be put into it.
-- $1 before which number, $2 number, $3 topic, $4 source, $5 type, each or null for any; $6 is not used; $7 how many
SELECT {outbox_summary_columns}
FROM (
    (
        SELECT o.id
        FROM {outbox_pending} AS q FORCE INDEX (PRIMARY)
        STRAIGHT_JOIN {outbox} AS o ON o.id = q.id
        WHERE q.id < $1
          AND q.queued = 1
          AND ($2 IS NULL OR o.id = $2)
          AND ($3 IS NULL OR o.topic = $3)
          AND ($4 IS NULL OR o.source = $4)
          AND ($5 IS NULL OR o.type = $5)
        ORDER BY q.id DESC
        LIMIT $7
    )
    UNION
    (
        SELECT o.id
        FROM {outbox} AS o FORCE INDEX (fresh)
        WHERE o.fresh IS NOT NULL
          AND o.id < $1
          AND ($2 IS NULL OR o.id = $2)
          AND ($3 IS NULL OR o.topic = $3)
          AND ($4 IS NULL OR o.source = $4)
          AND ($5 IS NULL OR o.type = $5)
        ORDER BY o.fresh DESC, o.id DESC
        LIMIT $7
    )
    ORDER BY 1 DESC
    LIMIT $7
) AS f
STRAIGHT_JOIN {outbox} AS o ON o.id = f.id
LEFT JOIN {outbox_pending} AS p ON p.id = o.id
LEFT JOIN {outbox_dead} AS d ON d.id = o.id
ORDER BY o.id DESC
