-- Fails if the statement before it has found no row.
IF(ROW_COUNT() = 1, 1, EXP(10000))
