-- The server's clock, in microseconds. It stands still within a statement: after a wait for a lock it is asked by another.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now_us
