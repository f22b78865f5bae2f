-- Puts messages into their lanes that are fresh, or on the list of what has just come. What is left there of a message that had the
-- same number, and was removed by another hand, is deleted first: these have no row there.
-- 1 numbers
DELETE p
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (ROWLOCK) ON p.id = asked.id;
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
SELECT o.id, {pending_lane_fragment}, {pending_place_fragment}, {pending_index_fragment}, {outbox_due_fragment}
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o ON o.id = asked.id
