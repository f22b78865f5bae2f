-- An error has already undone the transaction on our own sessions (XACT_ABORT). The driver knows this text.
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
