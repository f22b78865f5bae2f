-- 1 name
DECLARE @given int;
EXEC @given = sp_releaseapplock @Resource = @P1, @LockOwner = N'Session';
SELECT @given AS given
