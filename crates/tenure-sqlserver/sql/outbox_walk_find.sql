SET @walk_next = (
    SELECT TOP (1) lane FROM {outbox_pending} WITH (INDEX (queue))
    WHERE lane > @walk_lane
    ORDER BY lane, place_a, place_b, id
)
