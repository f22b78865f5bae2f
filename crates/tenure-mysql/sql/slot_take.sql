-- Takes that row, before the first position is taken: from now on, until the transaction ends, readers see that. Where none
-- was found, waits for the one at the place, and leaves its floor, which is as true and only lower.
-- $1 the place
UPDATE {append_slots}
SET uses = uses + 1,
    floor = IF(@tenure_slot IS NULL, floor, @tenure_top),
    holder = CONNECTION_ID(),
    taken_at = UTC_TIMESTAMP(6)
WHERE slot = COALESCE(@tenure_slot, $1)
