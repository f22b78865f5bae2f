-- Here the statement itself says that it reads what others have not committed (cluster_wait): there is nothing to set.
DECLARE @own_nothing bit
