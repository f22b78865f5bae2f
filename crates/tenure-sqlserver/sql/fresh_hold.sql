-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it. From where the last ones were held on.
-- Of each, whether it goes on the list of what has just come.
-- 1 2 after which mark and number, 3 how many
SELECT TOP (@P3) o.id, o.fresh, {outbox_comes_fragment} AS comes
FROM {outbox} AS o WITH (INDEX (fresh), UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE o.fresh < @P1 OR (o.fresh = @P1 AND o.id > @P2)
ORDER BY o.fresh DESC, o.id
