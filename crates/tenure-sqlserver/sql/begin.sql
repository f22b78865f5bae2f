-- Isolation is that of our sessions: READ COMMITTED. The driver knows this text.
BEGIN TRANSACTION
