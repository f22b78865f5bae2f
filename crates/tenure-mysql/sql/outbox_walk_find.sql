-- Into another variable than the one that it is found by: MariaDB would not take that one for a constant, and read all.
SET @tenure_next = (
    SELECT lane FROM {outbox_pending} FORCE INDEX (queue)
    WHERE lane > @tenure_lane
    ORDER BY lane, place_a, place_b, id
    LIMIT 1
)
