-- When a message is due that is to go at once.
DATEDIFF_BIG(MICROSECOND, '1970-01-01', @now)
