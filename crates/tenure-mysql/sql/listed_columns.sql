f.id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.created_at) AS created_us, f.fits, f.looked, f.found
