-- 1 name
DECLARE @own_given int;
EXEC @own_given = sp_releaseapplock @Resource = @P1, @LockOwner = N'Session';
SELECT @own_given AS given
