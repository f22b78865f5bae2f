-- The cluster's number, after the change that is under way has ended.
SELECT revision FROM {cluster} WHERE id = 1 LOCK IN SHARE MODE
