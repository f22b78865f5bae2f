-- The highest position that is committed. Read first; see events/horizon.rs.
SELECT COALESCE(MAX(position), 0) AS top FROM {events}
