-- Subscriptions that ever moved, by name, and how many events each has put aside, counted up to one more than a bound.
-- $1 after which name, $2 how many, $3 up to how many are counted
SELECT c.name, c.position, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', c.moved_at) AS moved_us,
       CASE
           WHEN (
               SELECT p.position FROM {parked} AS p FORCE INDEX (PRIMARY)
               WHERE p.subscription = c.name ORDER BY p.subscription, p.position LIMIT 1 OFFSET $3
           ) IS NULL
           THEN (SELECT COUNT(*) FROM {parked} AS p WHERE p.subscription = c.name)
           ELSE $3 + 1
       END AS parked
FROM {checkpoints} AS c FORCE INDEX (PRIMARY)
WHERE c.name > $1
ORDER BY c.name
LIMIT $2
