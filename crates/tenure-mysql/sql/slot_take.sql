-- Takes that row, as slot_own does it. Where none was found, waits for the one at the place, and leaves its floor, which is
-- as true and only lower.
-- $1 the place
UPDATE {append_slots}
SET uses = uses + 1,
    floor = IF(@tenure_slot IS NULL, floor, @tenure_top),
    holder = CONNECTION_ID(),
    taken_at = UTC_TIMESTAMP(6)
WHERE slot = COALESCE(@tenure_slot, $1)
