-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it. From where the last ones were held on: what those have left in the index is there for
-- a while, and would be stepped over each time.
-- $1 $2 after which mark and number, $3 how many
SELECT id, fresh
FROM {outbox} FORCE INDEX (fresh)
WHERE fresh < $1 OR (fresh = $1 AND id > $2)
ORDER BY fresh DESC, id
LIMIT $3
FOR UPDATE SKIP LOCKED
