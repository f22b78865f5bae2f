-- Fails if the statement before it has found no row, so that nothing after it is run.
SELECT IF(ROW_COUNT() = 1, 1, EXP(10000)) AS met
