-- When a message is due that was never tried, in microseconds.
coalesce(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', coalesce(o.deliver_at, o.created_at)), 0)
