-- The same as slot_own, right behind streams_move, for all that are appended together: ends the text if that has not found all it had
-- to.
-- 1 how many streams are begun, 2 how many are moved
IF @before <> @P1 + @P2
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
