-- Fails if there is no transaction. The driver knows this text.
COMMIT TRANSACTION
