-- Every subscription that ever moved, by name, and how many events each has put aside.
SELECT c.name, c.position, DATEDIFF_BIG(MICROSECOND, '1970-01-01', c.moved_at) AS moved_us,
       (SELECT COUNT_BIG(*) FROM {parked} AS p WHERE p.subscription = c.name) AS parked
FROM {checkpoints} AS c
ORDER BY c.name
