-- Forgets runners that have said nothing for so long. Who is about to say something is passed over.
-- $1 how many microseconds, $2 how many
WITH old AS MATERIALIZED (
    SELECT r.ctid AS place FROM {runners} AS r
    WHERE r.seen_at < clock_timestamp() - $1::bigint * interval '1 microsecond'
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM {runners} AS r USING old WHERE r.ctid = old.place RETURNING 1
