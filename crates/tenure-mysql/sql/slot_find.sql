-- For the user's transaction, which may last: finds a row that nobody holds, from a place by chance on, and locks it; waits
-- for nobody. Never one that this connection was the last to take: it may hold it already, with a floor that must not
-- rise. With it, the highest position that is committed, without a lock at any isolation below SERIALIZABLE. (In an old
-- snapshot that is an older one, which is as true.)
-- $1 the place
SELECT slot, (SELECT COALESCE(MAX(position), 0) FROM {events}) INTO @tenure_slot, @tenure_top
FROM {append_slots}
WHERE slot >= $1 AND holder <> CONNECTION_ID()
ORDER BY slot
LIMIT 1
FOR UPDATE SKIP LOCKED
