-- The next statement sees what is not committed.
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
