-- The first position that nobody has taken yet. Read first; see events/horizon.rs.
SELECT s.k AS top FROM {next} AS s
