-- The same as slot_own, right behind streams_move, for all that are appended together: fails if that has not found all it had to.
-- $1 how many streams are begun, $2 how many are moved
UPDATE {append_slots}
SET uses = uses + 1,
    floor = IF(ROW_COUNT() <> $1 + 2 * $2, EXP(10000), (SELECT COALESCE(MAX(position), 0) FROM {events})),
    holder = CONNECTION_ID(),
    taken_at = UTC_TIMESTAMP(6)
WHERE slot = CONNECTION_ID() % 128 + 1
