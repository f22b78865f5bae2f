-- Events of all streams after a position, until there are enough, or they are large enough together. Read last; see
-- events/horizon.rs. Only up to the horizon, which the statements before it have found in the same text: beyond it are those
-- of transactions that have not ended, and a read would wait for them. Up to it all have ended; one whose locks are just being
-- let go is waited for, and none is passed over.
-- 1 after which position, 2 how many, 3 how many bytes
SELECT {event_columns}
FROM (
    SELECT sized.position,
           SUM(CAST(sized.bytes AS bigint)) OVER (
               ORDER BY sized.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS bytes_before
    FROM (
        SELECT TOP (@P2) v.position, v.bytes
        FROM {events} AS v WITH (READCOMMITTEDLOCK, ROWLOCK)
        WHERE v.position > @P1 AND v.position <= @all_horizon
        ORDER BY v.position
    ) AS sized
) AS page
INNER LOOP JOIN {events} AS e WITH (READCOMMITTEDLOCK, ROWLOCK) ON e.position = page.position
WHERE coalesce(page.bytes_before, 0) < @P3
ORDER BY e.position
