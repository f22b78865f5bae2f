-- Writes the whole row. Whoever calls this holds its fence, so nobody writes it in between.
-- 1 name, 2 term, 3 node, 4 incarnation, 5 claim, 6 renewals, 7 machine, 8 pid, 9 kind, 10 backend,
-- 11 acquired_at, 12 renewed_at, 13 expires_at, 14 released_at, 15 revoked_at, 16 presence, 17 presence_trust_ms
UPDATE {leases} WITH (ROWLOCK)
SET term = @P2, node = @P3, incarnation = @P4, claim = @P5, renewals = @P6, machine = @P7, pid = @P8, kind = @P9,
    backend = @P10, acquired_at = @P11, renewed_at = @P12, expires_at = @P13, released_at = @P14, revoked_at = @P15,
    presence = @P16, presence_trust_ms = @P17
WHERE name = @B1;
INSERT INTO {leases} (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms
)
SELECT @B1, @P2, @P3, @P4, @P5, @P6, @P7, @P8, @P9, @P10, @P11, @P12, @P13, @P14, @P15, @P16, @P17
WHERE NOT EXISTS (SELECT 1 FROM {leases} WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE name = @B1)
