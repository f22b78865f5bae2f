-- Finds a row that nobody holds, from a place by chance on, and locks it; waits for nobody. Never one that this session was the
-- last to take: it may hold it already, with a floor that must not rise.
--
-- Then, before the first position is taken, takes that row: from now on, until the transaction ends, readers see that. Its floor
-- is the highest position that was given out so far, committed or not: every one that is given out from now on is above it.
-- Where no row was found, waits for the one at the place, and leaves its floor, which is as true and only lower.
-- 1 the place
DECLARE @own_slot int, @own_top bigint;
SELECT TOP (1) @own_slot = slot
FROM {append_slots} WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE slot >= @P1 AND holder <> @@SPID
ORDER BY slot;
SET @own_top = (SELECT coalesce(max(position), 0) FROM {events} WITH (READUNCOMMITTED));
UPDATE {append_slots} WITH (ROWLOCK, READCOMMITTEDLOCK)
SET uses = uses + 1,
    floor = CASE WHEN @own_slot IS NULL THEN floor ELSE @own_top END,
    holder = @@SPID,
    taken_at = SYSUTCDATETIME()
WHERE slot = coalesce(@own_slot, @P1)
