-- Holds messages that other programs have inserted and that are not in the queue yet. One that is locked is passed over: it is
-- not committed, or another relay has it.
-- $1 how many
SELECT id FROM {outbox} FORCE INDEX (fresh) WHERE fresh IS NOT NULL ORDER BY fresh, id LIMIT $1 FOR UPDATE SKIP LOCKED
