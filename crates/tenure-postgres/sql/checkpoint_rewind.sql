-- Moves a checkpoint to any place and counts that, forgets what was put aside after it, and notes who did it.
-- $1 name, $2 to, $3 who
WITH before AS MATERIALIZED (
    SELECT coalesce((SELECT position FROM {checkpoints} WHERE name = $1), 0) AS position
), moved AS (
    INSERT INTO {checkpoints} AS c (name, position, moved_at, rewinds) VALUES ($1, $2, clock_timestamp(), 1)
    ON CONFLICT (name) DO UPDATE SET position = excluded.position, moved_at = excluded.moved_at, rewinds = c.rewinds + 1
), forgotten AS (
    DELETE FROM {parked} WHERE subscription = $1 AND position > $2 RETURNING 1
)
INSERT INTO {audit} (at, actor, action, subject, detail)
SELECT clock_timestamp(), $3, 'subscription rewind', $1,
       'from ' || b.position || ' to ' || $2::bigint || ', ' || (SELECT count(*) FROM forgotten) || ' put aside forgotten'
FROM before AS b
