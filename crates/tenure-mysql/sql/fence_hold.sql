-- Shares the fence of a lease until the transaction ends: a takeover waits for that, a renewal does not. A locking read sees
-- what is committed now, whatever snapshot the transaction has.
-- $1 name
SELECT term, open FROM {fences} WHERE name = $1 LOCK IN SHARE MODE
