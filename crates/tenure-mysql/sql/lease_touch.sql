-- Stamps a recorded holding as living. Leaves the fence alone, as a renewal does.
-- $1 name, $2 term, $3 claim, $4 how long it counts as living, in microseconds
UPDATE {leases}
SET renewed_at = UTC_TIMESTAMP(6),
    expires_at = UTC_TIMESTAMP(6) + INTERVAL $4 MICROSECOND
WHERE name = $1 AND term = $2 AND claim = $3 AND released_at IS NULL AND revoked_at IS NULL
