-- Isolation is that of our sessions: READ COMMITTED.
START TRANSACTION
