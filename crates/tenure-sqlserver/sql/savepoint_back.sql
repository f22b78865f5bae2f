-- Undoes what came after the mark; the rows stay locked. Fails where there is no transaction.
ROLLBACK TRANSACTION tenure_append
