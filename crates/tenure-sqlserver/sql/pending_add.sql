-- Puts messages into the queue that this transaction has inserted. One that is there already, by whatever hand, stays as it is.
-- 1 rows of number, lane, the two parts of the place, and when it is due; all but the id that stands with the number is read from the
-- message's own row
INSERT INTO {outbox_pending} (id, lane, place_a, place_b, due_us)
SELECT o.id, {pending_lane_fragment}, {pending_place_fragment}, {pending_index_fragment}, {outbox_due_fragment}
FROM OPENJSON(@P1) WITH ({given_fragment}) AS asked
INNER LOOP JOIN {outbox} AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
WHERE NOT EXISTS (SELECT 1 FROM {outbox_pending} AS t WITH (READCOMMITTEDLOCK) WHERE t.id = o.id)
