-- One branch of outbox_lanes: the numbers of rows of one source after a place. Written as ranges of the whole index: a
-- comparison of one column after another would read the source from its head. The driver asks it once for each source.
-- 1 source, 2 3 4 after which place, 5 how many
SELECT TOP (@P5) id
FROM {outbox_pending} WITH (INDEX (queue))
WHERE lane = @B1
  AND place_a >= @P2
  AND (place_a > @P2 OR (place_a = @P2 AND place_b > @P3) OR (place_a = @P2 AND place_b = @P3 AND id > @P4))
ORDER BY lane, place_a, place_b, id
