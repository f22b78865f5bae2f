-- Leases as they are, without a lock.
-- $1 names
SELECT {lease_columns} FROM {leases} AS l WHERE l.name IN ($1)
