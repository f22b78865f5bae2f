-- Stamps a recorded holding as living. Takes no strong lock, as a renewal takes none.
-- $1 name, $2 term, $3 claim, $4 how long it counts as living, in microseconds
UPDATE {leases}
SET renewed_at = clock_timestamp(),
    expires_at = clock_timestamp() + $4 * interval '1 microsecond'
WHERE name = $1 AND term = $2 AND claim = $3 AND released_at IS NULL AND revoked_at IS NULL
RETURNING term
