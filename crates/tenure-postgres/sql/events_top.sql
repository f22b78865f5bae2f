-- The first position that nobody has taken yet. Read first; see events/horizon.rs.
SELECT last_value + is_called::integer AS top FROM {events_sequence}
