-- Stamps a recorded holding as living. Leaves the fence alone, as a renewal does.
-- 1 name, 2 term, 3 claim, 4 how long it counts as living, in microseconds
UPDATE {leases} WITH (ROWLOCK)
SET renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P4 % 60000000 AS int), DATEADD(MINUTE, CAST(@P4 / 60000000 AS int), @now))
WHERE name = @B1 AND term = @P2 AND claim = @P3 AND released_at IS NULL AND revoked_at IS NULL
