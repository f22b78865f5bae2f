-- Subscriptions that ever moved, by name, and how many events each has put aside, counted up to a bound.
-- $1 after which name, $2 how many, $3 up to how many are counted
SELECT c.name, c.position, (extract(epoch FROM c.moved_at) * 1000000)::bigint AS moved_us,
       (SELECT count(*) FROM (SELECT 1 FROM {parked} AS p WHERE p.subscription = c.name LIMIT $3) AS few) AS parked
FROM {checkpoints} AS c
WHERE c.name > $1
ORDER BY c.name
LIMIT $2
