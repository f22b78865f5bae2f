-- Another branch of outbox_heads: the first source between two others.
-- $1 $2 the two
(
    SELECT p.lane, p.queued, p.due_us, p.id
    FROM {outbox_pending} AS p FORCE INDEX (queue)
    WHERE p.lane > $1 AND p.lane < $2
    ORDER BY p.lane, p.place_a, p.place_b, p.id
    LIMIT 1
)
