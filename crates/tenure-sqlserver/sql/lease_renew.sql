-- Extends exactly one grant, in one statement. Its fence is left alone: a transaction of the holder's own that has checked it
-- does not hold up the renewal. A span is added in two steps, because the server adds at most 2,147,483,647 of a unit.
-- 1 name, 2 term, 3 incarnation, 4 number of the renewal, 5 ttl in microseconds, 6 presence, 7 its trust in ms
UPDATE {leases} WITH (ROWLOCK)
SET renewals = @P4,
    renewed_at = @now,
    expires_at = DATEADD(MICROSECOND, CAST(@P5 % 60000000 AS int), DATEADD(MINUTE, CAST(@P5 / 60000000 AS int), @now)),
    presence = @P6,
    presence_trust_ms = @P7
WHERE name = @B1
  AND term = @P2
  AND incarnation = @P3
  AND renewals < @P4
  AND released_at IS NULL
  AND revoked_at IS NULL
  AND expires_at > @now
