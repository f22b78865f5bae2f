-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it.
-- 1 how many
SELECT TOP (@P1) id
FROM {outbox} WITH (INDEX (fresh), UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE fresh IS NOT NULL
ORDER BY fresh, id
