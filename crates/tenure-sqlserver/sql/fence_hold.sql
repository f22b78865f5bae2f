-- Shares the fence of a lease until the transaction ends: a takeover waits for that, a renewal does not. The hint reads what is
-- committed now, with a lock that is kept, whatever isolation or snapshot the transaction has.
-- 1 name
SELECT term, [open] FROM {fences} WITH (REPEATABLEREAD, ROWLOCK) WHERE name = @B1
