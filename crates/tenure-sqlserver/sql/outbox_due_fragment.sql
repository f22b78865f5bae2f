-- When a row is due, in microseconds.
coalesce(DATEDIFF_BIG(MICROSECOND, '1970-01-01', coalesce(o.next_at, o.deliver_at, o.created_at)), 0)
