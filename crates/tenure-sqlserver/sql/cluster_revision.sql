-- The number that this transaction has taken.
SELECT revision FROM {cluster} WHERE id = 1
