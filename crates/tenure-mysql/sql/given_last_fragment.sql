-- The same of the last of them. Numbers rise within an insert, by the increment at least: so where the last message has the number
-- that is expected of it, all have theirs. It is found by that number and by nothing else, because at REPEATABLE READ what is read
-- for an insert is locked, and only so no gaps are, in which others insert. Where something else has it the statement fails, in
-- whatever mode.
-- $1 how many are before it, $2 its id
CASE
    (SELECT o.message_id FROM {outbox} AS o FORCE INDEX (PRIMARY) WHERE o.id = LAST_INSERT_ID() + $1 * @@auto_increment_increment)
    WHEN $2 THEN LAST_INSERT_ID() + $1 * @@auto_increment_increment
    ELSE GREATEST(CAST(LAST_INSERT_ID() AS SIGNED), 1) + 9223372036854775807
END
