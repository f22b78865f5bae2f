-- The version of a stream as it is now, whatever snapshot the transaction has; no row when it has no events.
-- $1 stream
SELECT version FROM {streams} WHERE stream = $1 LOCK IN SHARE MODE
