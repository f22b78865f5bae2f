-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it. From where the last ones were held on.
-- 1 2 after which mark and number, 3 how many
SELECT TOP (@P3) id, fresh
FROM {outbox} WITH (INDEX (fresh), UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE fresh < @P1 OR (fresh = @P1 AND id > @P2)
ORDER BY fresh DESC, id
