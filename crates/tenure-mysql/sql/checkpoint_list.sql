-- Every subscription that ever moved, by name, and how many events each has put aside.
SELECT c.name, c.position, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', c.moved_at) AS moved_us,
       (SELECT COUNT(*) FROM {parked} AS p WHERE p.subscription = c.name) AS parked
FROM {checkpoints} AS c
ORDER BY c.name
