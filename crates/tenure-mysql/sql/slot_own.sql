-- Takes the row of this connection, before the first position is taken: from now on, until the transaction ends, readers
-- see that. Its floor is the highest position that is committed: every position that is given out from now on is above
-- it. (At READ COMMITTED that look locks nothing.) Fails if the statement before it was to move a stream and has found none
-- with the version that is expected: nothing after it is run then. That the row was there must be asked after it.
UPDATE {append_slots}
SET uses = uses + 1,
    floor = IF(ROW_COUNT() = 0, EXP(10000), (SELECT COALESCE(MAX(position), 0) FROM {events})),
    holder = CONNECTION_ID(),
    taken_at = UTC_TIMESTAMP(6)
WHERE slot = CONNECTION_ID() % 128 + 1
