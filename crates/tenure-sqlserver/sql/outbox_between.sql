-- Another branch of outbox_heads: the first source between two others. The first of the two may be empty, which is before all.
-- 1 2 the two
SELECT TOP (1) p.lane, p.queued, p.due_us, p.id
FROM {outbox_pending} AS p WITH (INDEX (queue))
WHERE p.lane > ISNULL(@B1, 0x) AND p.lane < @B2
ORDER BY p.lane, p.place_a, p.place_b, p.id
