-- One branch of outbox_heads.
-- $1 source
(
    SELECT p.lane, p.queued, p.due_us, p.id
    FROM {outbox_pending} AS p FORCE INDEX (queue)
    WHERE p.lane = $1
    ORDER BY p.lane, p.place_a, p.place_b, p.id
    LIMIT 1
)
