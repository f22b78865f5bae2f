-- The same of one that has a source and is to go at once, as most are.
-- 1 source, 2 sequence, 3 index
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
VALUES (SCOPE_IDENTITY(), @B1, @P2, @P3, {soon_fragment})
