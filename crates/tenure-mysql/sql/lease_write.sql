-- Writes the whole row. Whoever calls this holds its fence.
-- $1 name, $2 term, $3 node, $4 incarnation, $5 claim, $6 renewals, $7 machine, $8 pid, $9 kind, $10 backend,
-- $11 acquired_at, $12 renewed_at, $13 expires_at, $14 released_at, $15 revoked_at, $16 presence, $17 presence_trust_ms
INSERT INTO {leases} (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON DUPLICATE KEY UPDATE
    term = $2, node = $3, incarnation = $4, claim = $5, renewals = $6, machine = $7, pid = $8, kind = $9, backend = $10,
    acquired_at = $11, renewed_at = $12, expires_at = $13, released_at = $14, revoked_at = $15, presence = $16,
    presence_trust_ms = $17
