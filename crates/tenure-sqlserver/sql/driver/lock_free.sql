-- Whether a lock could be had in shared mode, without taking it: 1 if nobody holds it alone.
-- 1 name
SELECT APPLOCK_TEST(N'public', @P1, N'Shared', N'Session') AS free
