-- Rows of further sources, in order: the first one of each source is its head. No row is passed over for being locked: see
-- outbox_lanes.
-- 1 after which source, 2 which to leave out, 3 how many rows
SELECT TOP (@P3) o.lane, o.queued, {outbox_due_fragment} AS due_us, o.id
FROM {outbox} AS o WITH (INDEX (queue))
WHERE o.lane > @B1
  AND NOT EXISTS (SELECT 1 FROM OPENJSON(@B2) WITH (lane varbinary(500) '$') AS left_out WHERE left_out.lane = o.lane)
ORDER BY o.lane, o.place_a, o.place_b, o.id
