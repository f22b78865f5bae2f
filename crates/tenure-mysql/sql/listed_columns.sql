f.id, f.created_us, f.fits, f.looked, f.found
