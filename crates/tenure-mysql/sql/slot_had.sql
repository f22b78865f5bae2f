-- In a transaction of our own: fails if the row of slot_own or slot_take is not there. As must_have_met; but a variable is set for less than an
-- answer costs, and may be left on a session of ours.
SET @tenure_met = {unmet_fragment}
