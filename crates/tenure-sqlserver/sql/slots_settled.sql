-- The rows of those who append, as committed. Read second; see events/horizon.rs. What a row said before its holder took it
-- cannot be read here: a row that is held is passed over, and one that is missing counts as held.
DECLARE @all_settled TABLE (slot bigint NOT NULL PRIMARY KEY, uses bigint NOT NULL);
INSERT INTO @all_settled (slot, uses)
SELECT slot, uses FROM {append_slots} WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) WHERE uses > 0;
SELECT slot, uses FROM @all_settled
