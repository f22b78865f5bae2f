-- Puts messages on the list that are fresh. What is left there of a message that had the
-- same number is as good, but not what is about to be removed: that is waited for.
-- 1 rows of a number each
INSERT INTO {outbox_arrivals} (id)
SELECT r.id
FROM OPENJSON(@P1) WITH (id bigint '$.v[0]') AS r
WHERE NOT EXISTS (SELECT 1 FROM {outbox_arrivals} AS t WITH (UPDLOCK, ROWLOCK) WHERE t.id = r.id)
