-- Extends exactly one grant, in one statement. Its fence is left alone: a transaction of the holder's own that has checked it
-- does not hold up the renewal. Counts rows that were found, not rows that changed.
-- $1 name, $2 term, $3 incarnation, $4 number of the renewal, $5 ttl in microseconds, $6 presence, $7 its trust in ms
UPDATE {leases}
SET renewals = $4,
    renewed_at = UTC_TIMESTAMP(6),
    expires_at = UTC_TIMESTAMP(6) + INTERVAL $5 MICROSECOND,
    presence = $6,
    presence_trust_ms = $7
WHERE name = $1
  AND term = $2
  AND incarnation = $3
  AND renewals < $4
  AND released_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > UTC_TIMESTAMP(6)
