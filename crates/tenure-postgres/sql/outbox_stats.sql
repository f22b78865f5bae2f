-- The outbox in numbers. A large outbox is not counted: its size is estimated as the planner does it, or by its numbers
-- where it was never analysed.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), queue AS MATERIALIZED (
    SELECT count(*) AS pending,
           count(*) FILTER (WHERE attempts = 0 AND due_at > (SELECT now FROM clock)) AS delayed,
           count(*) FILTER (WHERE attempts > 0) AS retrying
    FROM {outbox_pending}
    WHERE due_at IS NOT NULL
), graves AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE discarded_at IS NULL) AS dead,
           count(*) FILTER (WHERE discarded_at IS NOT NULL) AS discarded,
           count(DISTINCT source) FILTER (WHERE discarded_at IS NULL AND halts) AS halted_sources
    FROM {outbox_dead}
), few AS MATERIALIZED (
    SELECT count(*) AS rows FROM (SELECT 1 FROM {outbox} LIMIT 100001) AS o
), total AS MATERIALIZED (
    SELECT CASE
        WHEN few.rows <= 100000 THEN few.rows
        WHEN c.reltuples > 0 AND c.relpages > 0
            THEN (c.reltuples::float8 / c.relpages
                * (pg_relation_size(c.oid) / current_setting('block_size')::bigint))::bigint
        ELSE (SELECT max(id) - min(id) + 1 FROM {outbox})
    END AS rows, few.rows > 100000 AS estimated
    FROM few, pg_catalog.pg_class AS c
    WHERE c.oid = '{outbox}'::regclass
), halted AS MATERIALIZED (
    SELECT d.source FROM {outbox_dead} AS d WHERE d.halts AND d.discarded_at IS NULL AND d.source IS NOT NULL
), oldest AS MATERIALIZED (
    -- What was never tried is due since it was enqueued, or since the time that was set for it then.
    SELECT min(p.due_at) AS since
    FROM {outbox_pending} AS p
    WHERE p.attempts = 0 AND p.due_at <= (SELECT now FROM clock)
      AND (p.source IS NULL OR p.source NOT IN (SELECT source FROM halted))
    UNION ALL
    -- What was tried is due at another time. Rows are numbered nearly in the order of time, so the oldest is among the
    -- first.
    SELECT min(coalesce(o.deliver_at, o.created_at))
    FROM (
        SELECT p.id
        FROM {outbox_pending} AS p
        WHERE p.attempts > 0 AND p.due_at IS NOT NULL
          AND (p.source IS NULL OR p.source NOT IN (SELECT source FROM halted))
        ORDER BY p.id
        LIMIT 100
    ) AS first
    JOIN {outbox} AS o ON o.id = first.id
)
SELECT q.pending, q.delayed, q.retrying, g.dead, g.discarded, g.halted_sources,
       greatest(t.rows - q.pending - g.dead - g.discarded, 0) AS dispatched,
       t.estimated, (SELECT min(since) FROM oldest) AS oldest_us, (SELECT now FROM clock) AS now_us
FROM queue AS q, graves AS g, total AS t
