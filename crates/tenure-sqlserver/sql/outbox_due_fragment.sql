-- When a message is due that was never tried, in microseconds.
coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at)), 0)
