-- Of a walk from the newest row on: the how-manieth a row is, how many fitted up to it, and the next one, which the last has not.
-- One window for all three, by name: each window that is written out is another pass over another temporary table.
w.id, w.fits,
COUNT(*) OVER walked AS looked,
SUM(w.fits) OVER walked AS found,
LEAD(w.id) OVER walked AS next_id
