-- Holds the fence of a lease, and makes it where there is none: whoever has checked it is waited for. Writers of one name
-- queue up here even while there is no lease.
--
-- The look holds the place of the name until the transaction ends, whether or not a row is there (UPDLOCK, HOLDLOCK): of two
-- that find none, the second waits for the first, and then finds one. So the insert never meets a duplicate, which would undo
-- the transaction. What the look holds of a row that is there can be shared with readers; what the update holds cannot: it
-- waits for every transaction that shares the row.
-- 1 name
INSERT INTO {fences} (name, term, [open])
SELECT @B1, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM {fences} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1);
UPDATE {fences} WITH (ROWLOCK) SET term = term WHERE name = @B1
