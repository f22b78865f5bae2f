-- Extends exactly one grant, in one statement. It takes no strong lock: a transaction of the holder's own that has
-- checked its fence does not hold up the renewal. The row comes back only if it was extended.
-- $1 name, $2 term, $3 incarnation, $4 number of the renewal, $5 ttl in microseconds, $6 presence, $7 its trust in ms
UPDATE {leases}
SET renewals = $4,
    renewed_at = clock_timestamp(),
    expires_at = clock_timestamp() + $5 * interval '1 microsecond',
    presence = $6,
    presence_trust_ms = $7
WHERE name = $1
  AND term = $2
  AND incarnation = $3
  AND renewals < $4
  AND released_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > clock_timestamp()
RETURNING term
