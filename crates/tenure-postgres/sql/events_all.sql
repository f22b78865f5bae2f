-- Events of all streams after a position. Read third; see events/horizon.rs.
-- $1 after which position, $2 how many
SELECT {event} FROM {events} AS e WHERE e.position > $1 ORDER BY e.position LIMIT $2
