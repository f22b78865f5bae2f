-- What dead messages have in common: from cause to cause by the index, whatever number of messages each has.
-- $1 after which cause, $2 how many causes, $3 up to how many messages of each are counted
WITH RECURSIVE walk AS (
    (SELECT d.cause, 1::bigint AS n FROM {outbox_dead} AS d
     WHERE d.discarded_at IS NULL AND d.cause > $1 ORDER BY d.cause LIMIT 1)
    UNION ALL
    SELECT next.cause, walk.n + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT d.cause FROM {outbox_dead} AS d
        WHERE d.discarded_at IS NULL AND d.cause > walk.cause ORDER BY d.cause LIMIT 1
    ) AS next
    WHERE walk.n < $2
)
SELECT walk.cause,
       (SELECT count(*) FROM (
            SELECT 1 FROM {outbox_dead} AS d WHERE d.discarded_at IS NULL AND d.cause = walk.cause LIMIT $3
        ) AS few) AS messages,
       (SELECT d.id FROM {outbox_dead} AS d WHERE d.discarded_at IS NULL AND d.cause = walk.cause
        ORDER BY d.id LIMIT 1) AS first,
       (SELECT d.id FROM {outbox_dead} AS d WHERE d.discarded_at IS NULL AND d.cause = walk.cause
        ORDER BY d.id DESC LIMIT 1) AS last
FROM walk
ORDER BY walk.n
