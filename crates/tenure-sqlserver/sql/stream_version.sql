-- The version of a stream as it is now, whatever snapshot the transaction has; no row when it has no events.
-- 1 stream
SELECT version FROM {streams} WITH (REPEATABLEREAD, ROWLOCK) WHERE stream = @B1
