-- Takes the row of this session, before the first position is taken: from now on, until the transaction ends, readers see that.
-- Its floor is the highest position that was given out so far, committed or not: every one that is given out from now on is
-- above it. Ends the text if the statement before it was to move a stream and has found none with the version that is
-- expected: nothing after it is run then. That the row was there must be asked after it. (`@before` is how many rows that
-- statement concerned: the driver remembers.)
IF @before = 0
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END;
UPDATE {append_slots} WITH (ROWLOCK)
SET uses = uses + 1,
    floor = (SELECT coalesce(max(position), 0) FROM {events} WITH (READUNCOMMITTED)),
    holder = @@SPID,
    taken_at = SYSUTCDATETIME()
WHERE slot = @@SPID % 128 + 1
