-- Holds the fences that can be had at once, and names them. One that cannot be had is in use: a transaction under it is
-- open, and may stay so for long. By the index, so that no other row is touched; the term is asked for as in leases_hold.
-- $1 names
SELECT name, term FROM {fences} FORCE INDEX (PRIMARY) WHERE name IN ($1) ORDER BY name FOR UPDATE SKIP LOCKED
