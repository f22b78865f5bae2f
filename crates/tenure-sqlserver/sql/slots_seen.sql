-- The same rows as they stand there, committed or not. Read third; and what follows from the three, for events_all: nothing can
-- appear up to there any more. In the order of their numbers (FORCESEEK): a read without locks in the order of pages may miss
-- rows while others are inserted.
DECLARE @all_seen TABLE (
    slot bigint NOT NULL PRIMARY KEY, uses bigint NOT NULL, floor bigint NOT NULL, holder bigint NOT NULL, lasts_us bigint NOT NULL
);
INSERT INTO @all_seen (slot, uses, floor, holder, lasts_us)
SELECT slot, uses, floor, holder, DATEDIFF_BIG(MICROSECOND, taken_at, SYSUTCDATETIME())
FROM {append_slots} WITH (READUNCOMMITTED, FORCESEEK)
WHERE slot > 0 AND uses > 0;
DECLARE @all_horizon bigint = (
    SELECT min(seen.floor) FROM @all_seen AS seen
    WHERE NOT EXISTS (
        SELECT 1 FROM @all_settled AS settled WHERE settled.slot = seen.slot AND settled.uses = seen.uses
    )
);
SET @all_horizon = CASE WHEN @all_horizon < @all_top THEN @all_horizon ELSE @all_top END;
SELECT slot, uses, floor, holder, lasts_us FROM @all_seen
