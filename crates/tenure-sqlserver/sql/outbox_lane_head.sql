-- One branch of outbox_lanes: the numbers of the first rows of one source. The driver asks it once for each source.
-- 1 source, 2 how many
SELECT TOP (@P2) id
FROM {outbox_pending} WITH (INDEX (queue))
WHERE lane = @B1
ORDER BY lane, place_a, place_b, id
