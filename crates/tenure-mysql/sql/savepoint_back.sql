-- Undoes what came after the mark; the rows stay locked. Fails where there is no transaction.
ROLLBACK TO SAVEPOINT tenure_append
