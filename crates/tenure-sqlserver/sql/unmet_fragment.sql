-- Ends the text if the statement before it has found no row, so that nothing after it is run. By a row and not by an error, which
-- may undo the user's whole transaction. `@before` is how many rows the statement before it concerned: the driver remembers.
IF @before <> 1
BEGIN
    SELECT 1 AS tenure_unmet;
    RETURN;
END
