-- Holds leases, each by its own row: a renewal that is under way was perhaps in time although it does not show yet. It is
-- waited for here, and shows in the next statement; from then on none comes through. Fences are left alone. The term is asked
-- for so that the index is not enough: MySQL would read all of it, and lock what it reads.
-- $1 names
SELECT name, term FROM {leases} FORCE INDEX (PRIMARY) WHERE name IN ($1) ORDER BY name FOR UPDATE
