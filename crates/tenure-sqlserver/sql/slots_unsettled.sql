-- Here the statement itself says that it sees what is not committed (slots_seen): there is nothing to set.
DECLARE @own_nothing bit
