-- The cluster's number, after the change that is under way has ended: a read with a lock waits for it.
SELECT revision FROM {cluster} WITH (READCOMMITTEDLOCK, ROWLOCK) WHERE id = 1
