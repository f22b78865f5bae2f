, walk AS MATERIALIZED (
    SELECT p.id, p.due_at, (((p.id & 1073741823) * 2654435761) >> 32) % $16 = $15 AS own
    FROM {outbox_pending} AS p
    WHERE p.source IS NULL
      AND (p.due_at, p.id) > ($10, $11)
      AND p.due_at <= (SELECT now FROM clock)
      AND $12 > 0
    ORDER BY p.due_at, p.id
    LIMIT $18
)
