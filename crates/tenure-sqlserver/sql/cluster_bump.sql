-- The number of this change. The row is held until the transaction ends: changes happen one after another.
UPDATE {cluster} WITH (ROWLOCK) SET revision = revision + 1 WHERE id = 1
