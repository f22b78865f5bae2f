-- What was put aside after a place, for it is read again.
-- $1 subscription, $2 the place
DELETE FROM {parked} WHERE subscription = $1 AND position > $2
