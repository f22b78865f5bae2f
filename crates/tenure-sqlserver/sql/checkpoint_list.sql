-- Subscriptions that ever moved, by name, and how many events each has put aside, counted up to one more than a bound.
-- 1 after which name, 2 how many, 3 up to how many are counted
SELECT TOP (@P2) c.name, c.position, DATEDIFF_BIG(MICROSECOND, '1970-01-01', c.moved_at) AS moved_us,
       (
           SELECT COUNT_BIG(*) FROM (
               SELECT TOP (@P3 + 1) 1 AS one FROM {parked} AS p WHERE p.subscription = c.name
           ) AS counted
       ) AS parked
FROM {checkpoints} AS c
WHERE c.name > @B1
ORDER BY c.name
