-- One branch of outbox_lanes: the numbers of rows of one source after a place. Written as ranges of the whole index: a
-- comparison of tuples would read the source from its head.
-- $1 source, $2 $3 $4 after which place, $5 how many
(
    SELECT id FROM {outbox_pending} FORCE INDEX (queue)
    WHERE lane = $1
      AND (place_a > $2 OR (place_a = $2 AND place_b > $3) OR (place_a = $2 AND place_b = $3 AND id > $4))
    ORDER BY lane, place_a, place_b, id
    LIMIT $5
)
