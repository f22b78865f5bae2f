-- The outbox in numbers, none of which is counted further than $1. Rows are numbered nearly in the order of time: the oldest
-- are among the first.
-- $1 how many rows are looked at
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), looked AS MATERIALIZED (
    SELECT id, source, due_at, attempts FROM {outbox_pending} ORDER BY id LIMIT $1
), graves AS MATERIALIZED (
    SELECT id, source, halts FROM {outbox_dead} WHERE discarded_at IS NULL ORDER BY id DESC LIMIT $1
), halted AS MATERIALIZED (
    SELECT DISTINCT source FROM graves WHERE halts AND source IS NOT NULL
), free AS MATERIALIZED (
    SELECT l.id, l.due_at, l.attempts
    FROM looked AS l
    WHERE l.due_at IS NOT NULL AND (l.source IS NULL OR l.source NOT IN (SELECT source FROM halted))
), oldest AS (
    SELECT min(due_at) AS since FROM free WHERE attempts = 0 AND due_at <= (SELECT now FROM clock)
    UNION ALL
    SELECT min(coalesce(o.deliver_at, o.created_at))
    FROM (SELECT id FROM free WHERE attempts > 0 ORDER BY id LIMIT 100) AS first
    JOIN {outbox} AS o ON o.id = first.id
)
SELECT (SELECT count(*) FROM looked) AS looked,
       (SELECT count(*) FROM looked WHERE due_at IS NOT NULL) AS pending,
       (SELECT count(*) FROM looked WHERE due_at IS NOT NULL AND attempts > 0) AS retrying,
       (SELECT count(*) FROM graves) AS dead,
       (SELECT count(*) FROM halted) AS halted_sources,
       (SELECT max(id) FROM {outbox}) AS newest,
       (SELECT min(since) FROM oldest) AS oldest_us,
       (SELECT now FROM clock) AS now_us
