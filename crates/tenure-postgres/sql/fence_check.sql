-- The row of a lease, held in place until the transaction ends, and the clock.
-- FOR KEY SHARE lets the holder's own renewals pass, and makes a takeover wait. The lock is taken in a WITH of its own,
-- so that the clock is read after a wait for it.
-- $1 name
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR KEY SHARE
)
SELECT {columns}, {now_us}
FROM locked AS l
