-- Marks where an append in the user's transaction begins. Does nothing, and says nothing, where there is no transaction.
SAVEPOINT tenure_append
