-- Moves a checkpoint from where its reader knows it to be, if it is still there, no operator has moved it meanwhile and the
-- reader is in office; what the reader puts aside is put aside in the same statement. Whoever moves it at the same time is waited for.
-- $1 lease or null, $2 term, $3 name, $4 from, $5 to; events put aside, as lists: $6 positions, $7 streams, $8 versions,
-- $9 types, $10 reasons, $11 attempts; $12 how often an operator has moved it, as the reader knows
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR KEY SHARE
), office AS MATERIALIZED (
    SELECT 1 FROM locked
    WHERE term = $2 AND released_at IS NULL AND revoked_at IS NULL AND expires_at > clock_timestamp()
    UNION ALL
    SELECT 1 WHERE $1 IS NULL
), moved AS (
    INSERT INTO {checkpoints} AS c (name, position, moved_at)
    SELECT $3, $5, clock_timestamp() FROM office
    -- A row that is not there stands for the start, and for nothing else.
    WHERE ($4::bigint = 0 AND $12::bigint = 0) OR EXISTS (SELECT 1 FROM {checkpoints} WHERE name = $3)
    ON CONFLICT (name) DO UPDATE SET position = excluded.position, moved_at = excluded.moved_at
        WHERE c.position = $4 AND c.rewinds = $12
    RETURNING 1
), put_aside AS (
    INSERT INTO {parked} AS p (subscription, position, stream, version, type, reason, attempts, parked_at)
    SELECT $3, g.position, g.stream, g.version, g.type, g.reason, g.attempts, clock_timestamp()
    FROM moved
    CROSS JOIN unnest($6::bigint[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::integer[])
        AS g (position, stream, version, type, reason, attempts)
    ON CONFLICT (subscription, position) DO UPDATE SET
        reason = excluded.reason, attempts = excluded.attempts, parked_at = excluded.parked_at
)
SELECT (SELECT count(*) FROM office) AS office, (SELECT count(*) FROM moved) AS moved
