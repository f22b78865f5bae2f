-- The last row from before a moment, or a number between it and the next: found by halving, in one round trip. Numbers rise
-- nearly as time does; the core's `Bisect` says the same step by step.
-- $1 the moment
WITH RECURSIVE b AS (
    SELECT 0::bigint AS low, coalesce((SELECT max(o.id) FROM {outbox} AS o), 0) AS high, 0 AS n
    UNION ALL
    SELECT CASE WHEN p.id IS NULL OR p.created_at < $1 THEN b.low + (b.high - b.low) / 2 + 1 ELSE b.low END,
           CASE WHEN p.id IS NULL OR p.created_at < $1 THEN b.high ELSE greatest(p.id - 1, b.low) END,
           b.n + 1
    FROM b
    LEFT JOIN LATERAL (
        SELECT o.id, o.created_at FROM {outbox} AS o
        WHERE o.id <= b.low + (b.high - b.low) / 2 + 1 ORDER BY o.id DESC LIMIT 1
    ) AS p ON true
    WHERE b.low < b.high AND b.n < 64
)
SELECT b.high FROM b ORDER BY b.n DESC LIMIT 1
