-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it. From where the last ones were held on: what those have left in the index is there for
-- a while, and would be stepped over each time.
-- Of each, whether it goes on the list of what has just come.
-- $1 $2 after which mark and number, $3 how many
SELECT o.id, o.fresh, {outbox_comes_fragment} AS comes
FROM {outbox} AS o FORCE INDEX (fresh)
WHERE o.fresh < $1 OR (o.fresh = $1 AND o.id > $2)
ORDER BY o.fresh DESC, o.id
LIMIT $3
FOR UPDATE SKIP LOCKED
