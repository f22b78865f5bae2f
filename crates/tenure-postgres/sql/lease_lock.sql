-- The row of a lease under the strong lock, and the clock.
-- FOR UPDATE also waits for transactions that have checked a fence (FOR KEY SHARE). The lock is taken in a WITH of its
-- own, because Postgres computes a select list before it waits for the row: the clock must be read after the wait.
-- $1 name
WITH locked AS (
    SELECT * FROM {leases} WHERE name = $1 FOR UPDATE
)
SELECT {columns}, {now_us}
FROM (SELECT 1) AS always
LEFT JOIN locked AS l ON true
