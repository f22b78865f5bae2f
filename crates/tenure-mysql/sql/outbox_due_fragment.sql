-- When a row is due, in microseconds.
coalesce(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', coalesce(o.next_at, o.deliver_at, o.created_at)), 0)
