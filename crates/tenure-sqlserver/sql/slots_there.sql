-- How many of the rows are there that our own appends take.
SELECT COUNT_BIG(*) AS slots FROM {append_slots} WITH (READUNCOMMITTED) WHERE slot BETWEEN 1 AND 128
