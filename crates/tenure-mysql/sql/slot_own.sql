-- Takes the row of this connection, before the first position is taken: from now on, until the transaction ends, readers
-- see that. Its floor is the highest position that is committed: every position that is given out from now on is above
-- it. (At READ COMMITTED both looks lock nothing.) Fails if the stream has not been moved to the version that is expected.
-- $1 stream, $2 its version after the append
UPDATE {append_slots}
SET uses = uses + 1,
    floor = IF(
        (SELECT version FROM {streams} WHERE stream = $1) = $2,
        (SELECT COALESCE(MAX(position), 0) FROM {events}),
        EXP(10000)
    ),
    holder = CONNECTION_ID(),
    taken_at = UTC_TIMESTAMP(6)
WHERE slot = CONNECTION_ID() % 128
