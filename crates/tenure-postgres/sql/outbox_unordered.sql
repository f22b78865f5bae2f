SELECT r.*
    FROM (
        SELECT p.*
        FROM {outbox_pending} AS p
        WHERE p.source IS NULL
          AND (p.due_at, p.id) > ($10, $11)
          AND p.due_at <= (SELECT now FROM clock)
        ORDER BY p.due_at, p.id
        LIMIT $12
    ) AS r
