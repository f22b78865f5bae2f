-- Forgets what an earlier append on this connection has found.
SET @tenure_slot = NULL
