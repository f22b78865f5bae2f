-- In the user's transaction: a row of its own, before the first position is taken; waits for nobody, and changes no row that
-- others change. Until the transaction ends, readers see it there and do not see it committed. Its floor is the highest
-- position that was given out so far, committed or not: every one that is given out from now on is above it.
INSERT INTO {append_slots} WITH (ROWLOCK) (
    uses, floor, holder, taken_at
)
SELECT 1, (SELECT coalesce(max(position), 0) FROM {events} WITH (READUNCOMMITTED)), @@SPID, SYSUTCDATETIME()
