-- Moves a checkpoint to any place that is not beyond the end of the log, unless that leads back, and counts that; forgets what was put
-- aside after it, and notes who did it. Says where the log ends.
-- $1 name, $2 to, $3 who
WITH before AS MATERIALIZED (
    SELECT coalesce((SELECT position FROM {checkpoints} WHERE name = $1), 0) AS position,
           (SELECT s.k - 1 FROM {next} AS s) AS log_end
), allowed AS MATERIALIZED (
    SELECT position FROM before WHERE $2::bigint <= greatest(position, log_end)
), moved AS (
    INSERT INTO {checkpoints} AS c (name, position, moved_at, rewinds)
    SELECT $1, $2, clock_timestamp(), 1 FROM allowed
    ON CONFLICT (name) DO UPDATE SET position = excluded.position, moved_at = excluded.moved_at, rewinds = c.rewinds + 1
    RETURNING 1
), forgotten AS (
    DELETE FROM {parked} WHERE subscription = $1 AND position > $2 AND EXISTS (SELECT 1 FROM allowed) RETURNING 1
), noted AS (
    INSERT INTO {audit} (at, actor, action, subject, detail)
    SELECT clock_timestamp(), $3, 'subscription rewind', $1,
           'from ' || a.position || ' to ' || $2::bigint || ', ' || (SELECT count(*) FROM forgotten) || ' put aside forgotten'
    FROM allowed AS a
)
SELECT (SELECT count(*) FROM moved) AS moved, log_end FROM before
