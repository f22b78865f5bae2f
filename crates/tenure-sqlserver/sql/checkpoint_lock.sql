-- The same as it is now, and nobody else moves it until the transaction ends.
-- 1 name
SELECT position, rewinds FROM {checkpoints} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1
