-- One branch of dead_causes: how many died of a cause, counted up to a bound, and the first and last of them.
-- $1 cause, $2 up to how many are counted
SELECT $1 AS cause,
       (
           SELECT count(*) FROM (
               SELECT 1 FROM {outbox_dead} AS d FORCE INDEX (cause)
               WHERE d.discarded_at IS NULL AND d.cause = $1
               LIMIT $2
           ) AS counted
       ) AS few,
       (
           SELECT d.id FROM {outbox_dead} AS d FORCE INDEX (cause)
           WHERE d.discarded_at IS NULL AND d.cause = $1
           ORDER BY d.id
           LIMIT 1
       ) AS oldest,
       (
           SELECT d.id FROM {outbox_dead} AS d FORCE INDEX (cause)
           WHERE d.discarded_at IS NULL AND d.cause = $1
           ORDER BY d.id DESC
           LIMIT 1
       ) AS newest
