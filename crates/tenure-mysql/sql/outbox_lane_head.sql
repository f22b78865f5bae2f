-- One branch of outbox_lanes: the numbers of the first rows of one source. Cheaper to plan than a range.
-- $1 source, $2 how many
(
    SELECT id FROM {outbox_pending} FORCE INDEX (queue)
    WHERE lane = $1
    ORDER BY lane, place_a, place_b, id
    LIMIT $2
)
