-- Takes a lock of the session, by name. It goes with the session, or is given back; it counts how often it was taken.
-- 1 name, 2 Exclusive or Shared, 3 for how many milliseconds to wait
DECLARE @own_taken int;
EXEC @own_taken = sp_getapplock @Resource = @P1, @LockMode = @P2, @LockOwner = N'Session', @LockTimeout = @P3;
SELECT @own_taken AS taken
