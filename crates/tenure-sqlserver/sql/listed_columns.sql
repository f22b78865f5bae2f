f.id, DATEDIFF_BIG(MICROSECOND, '1970-01-01', o.created_at) AS created_us, f.fits, f.looked, f.found
