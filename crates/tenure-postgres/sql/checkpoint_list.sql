-- Every subscription that ever moved, by name, and how many events each has put aside.
SELECT c.name, c.position, (extract(epoch FROM c.moved_at) * 1000000)::bigint AS moved_us,
       (SELECT count(*) FROM {parked} AS p WHERE p.subscription = c.name) AS parked
FROM {checkpoints} AS c
ORDER BY c.name
