-- Writes the whole row. Whoever calls this holds the row's strong lock, or the name's advisory lock if there is no row.
-- $1 name, $2 term, $3 node, $4 incarnation, $5 claim, $6 renewals, $7 machine, $8 pid, $9 kind, $10 backend,
-- $11 acquired_at, $12 renewed_at, $13 expires_at, $14 released_at, $15 revoked_at, $16 presence, $17 presence_trust_ms,
-- $18 origin_epoch, $19 origin_term
INSERT INTO {leases} AS l (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms,
    origin_epoch, origin_term
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
ON CONFLICT (name) DO UPDATE SET
    term = excluded.term,
    node = excluded.node,
    incarnation = excluded.incarnation,
    claim = excluded.claim,
    renewals = excluded.renewals,
    machine = excluded.machine,
    pid = excluded.pid,
    kind = excluded.kind,
    backend = excluded.backend,
    acquired_at = excluded.acquired_at,
    renewed_at = excluded.renewed_at,
    expires_at = excluded.expires_at,
    released_at = excluded.released_at,
    revoked_at = excluded.revoked_at,
    presence = excluded.presence,
    presence_trust_ms = excluded.presence_trust_ms,
    origin_epoch = excluded.origin_epoch,
    origin_term = excluded.origin_term
