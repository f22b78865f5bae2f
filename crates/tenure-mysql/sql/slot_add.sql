-- In the user's transaction: a row of its own, before the first position is taken; waits for nobody, and changes no row that
-- others change. Until the transaction ends, readers see it there and do not see it committed. Stands right behind
-- slot_floor.
INSERT INTO {append_slots} (uses, floor, holder, taken_at) VALUES (1, LAST_INSERT_ID(), CONNECTION_ID(), UTC_TIMESTAMP(6))
