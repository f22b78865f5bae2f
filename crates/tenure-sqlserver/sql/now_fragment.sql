-- The server's clock, in microseconds. `SYSUTCDATETIME()` is read anew wherever it stands, also twice within one statement; so the
-- driver reads it once before the statement begins, and `@now` is that. After a wait for a lock it is asked by another statement.
DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now) AS now_us
