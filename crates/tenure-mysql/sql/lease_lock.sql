-- Holds the row of a lease: a renewal that is under way is waited for, and none comes through from then on.
-- $1 name
SELECT name FROM {leases} WHERE name = $1 FOR UPDATE
