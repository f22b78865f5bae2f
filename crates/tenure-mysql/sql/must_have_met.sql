-- Fails if the statement before it has found no row, so that nothing after it is run.
SELECT {unmet_fragment} AS met
