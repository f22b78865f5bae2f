-- Waits until the cluster's number is another one, or until the time is over: it looks at the row every 25 ms, within one
-- statement, so that a node that sleeps costs the network and the log next to nothing. For that the session reads what
-- others have not committed (session_uncommitted.sql); what it tells is a hint and nothing more.
-- The row is joined by a range, because one that is joined by its key alone would be read once and for all.
-- $1 the number that is known, $2 how often it looks
WITH RECURSIVE waiting (tick, revision) AS (
    SELECT 1, CAST($1 AS SIGNED)
    UNION ALL
    SELECT w.tick + 1, c.revision
    FROM waiting AS w
    JOIN {cluster} AS c ON c.id <= w.tick
    WHERE w.tick < $2 AND w.revision = $1 AND SLEEP(0.025) = 0
)
SELECT tick, revision FROM waiting ORDER BY tick DESC LIMIT 1
