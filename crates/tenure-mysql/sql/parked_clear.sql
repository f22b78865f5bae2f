-- Makes room for events that are put aside again.
-- $1 subscription, $2 positions
DELETE FROM {parked} WHERE subscription = $1 AND position IN ($2)
