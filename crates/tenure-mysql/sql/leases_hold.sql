-- Holds leases, each by its own row: a renewal that is under way was perhaps in time although it does not show yet. It is
-- waited for here, and shows in the next statement; from then on none comes through. Fences are left alone.
-- $1 names
SELECT name FROM {leases} FORCE INDEX (PRIMARY) WHERE name IN ($1) ORDER BY name FOR UPDATE
