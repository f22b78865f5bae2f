-- Puts messages on the list that this transaction has inserted. What is left there of a message that had the
-- same number is as good, but not what is about to be removed: that is waited for.
-- 1 rows of a number each, of which the id that stands with it is read
INSERT INTO {outbox_arrivals} (id)
SELECT o.id
FROM OPENJSON(@P1) WITH ({given_fragment}) AS asked
INNER LOOP JOIN {outbox} AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
WHERE NOT EXISTS (SELECT 1 FROM {outbox_arrivals} AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = o.id)
