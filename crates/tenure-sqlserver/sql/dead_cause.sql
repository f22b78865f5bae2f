-- One branch of dead_causes: how many died of a cause, counted up to a bound, and the first and last of them.
-- 1 cause, 2 up to how many are counted
SELECT @P1 AS cause,
       (
           SELECT COUNT_BIG(*) FROM (
               SELECT TOP (@P2) 1 AS one FROM {outbox_dead} AS d WITH (INDEX (cause))
               WHERE d.discarded_at IS NULL AND d.cause = @P1
           ) AS counted
       ) AS few,
       (
           SELECT TOP (1) d.id FROM {outbox_dead} AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = @P1
           ORDER BY d.id
       ) AS oldest,
       (
           SELECT TOP (1) d.id FROM {outbox_dead} AS d WITH (INDEX (cause))
           WHERE d.discarded_at IS NULL AND d.cause = @P1
           ORDER BY d.id DESC
       ) AS newest
