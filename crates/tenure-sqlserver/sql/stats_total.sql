-- How many messages there are, if they are not many; and the span of their numbers, which is an estimate.
-- 1 up to how many are counted
SELECT (SELECT COUNT_BIG(*) FROM (SELECT TOP (@P1) 1 AS one FROM {outbox} WITH (READPAST, READCOMMITTEDLOCK)) AS few) AS few,
       (SELECT coalesce(max(id) - min(id) + 1, 0) FROM {outbox} WITH (READPAST, READCOMMITTEDLOCK)) AS span
