-- Marks where an append in the user's transaction begins. Does nothing where there is no transaction.
IF @@TRANCOUNT > 0 SAVE TRANSACTION tenure_append
