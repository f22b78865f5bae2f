-- Holds the row of a lease: a renewal that is under way is waited for, and none comes through from then on. Readers pass.
-- 1 name
SELECT name FROM {leases} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1
