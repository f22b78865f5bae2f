-- How many of the rows are there that our own appends take.
SELECT COUNT(*) AS slots FROM {append_slots} WHERE slot BETWEEN 1 AND 128
