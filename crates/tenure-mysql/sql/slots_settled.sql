-- The rows of those who append, as committed. Read second; see events/horizon.rs.
SELECT /*M! SQL_NO_CACHE */ slot, uses FROM {append_slots} WHERE uses > 0
