-- From now on this session reads what others have not committed: only for hints.
SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
