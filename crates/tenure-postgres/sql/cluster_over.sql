-- Holds the leases of nodes that seem to be over, and tells by which clock. A renewal that is under way was perhaps in time
-- although it does not show yet: it is waited for here, and shows in the next statement. From then on none comes through.
-- Who has checked a fence (FOR KEY SHARE) is not waited for.
-- $1 names of leases
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), over AS MATERIALIZED (
    SELECT l.name FROM {leases} AS l, clock
    WHERE l.name = ANY ($1) AND l.released_at IS NULL AND l.expires_at <= clock.now
    ORDER BY l.name
    FOR NO KEY UPDATE OF l
)
SELECT (extract(epoch FROM clock.now) * 1000000)::bigint AS now_us, (SELECT count(*) FROM over) AS seeming
FROM clock
