-- What was put aside after a place, for it is read again.
-- 1 subscription, 2 the place
DELETE FROM {parked} WITH (ROWLOCK) WHERE subscription = @B1 AND position > @P2
