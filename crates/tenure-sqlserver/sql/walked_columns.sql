-- Of a walk from the newest row on: the how-manieth a row is, how many fitted up to it, and the next one, which the last has not.
w.id, w.created_us, w.fits,
COUNT_BIG(*) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS looked,
SUM(w.fits) OVER (ORDER BY w.id DESC ROWS UNBOUNDED PRECEDING) AS found,
LEAD(w.id) OVER (ORDER BY w.id DESC) AS next_id
