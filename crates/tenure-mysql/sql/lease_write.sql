-- Writes whole rows. Whoever calls this holds their fences.
-- $1 rows
INSERT INTO {leases} (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms,
    origin_epoch, origin_term
) VALUES $1
ON DUPLICATE KEY UPDATE
    term = VALUES(term), node = VALUES(node), incarnation = VALUES(incarnation), claim = VALUES(claim),
    renewals = VALUES(renewals), machine = VALUES(machine), pid = VALUES(pid), kind = VALUES(kind),
    backend = VALUES(backend), acquired_at = VALUES(acquired_at), renewed_at = VALUES(renewed_at),
    expires_at = VALUES(expires_at), released_at = VALUES(released_at), revoked_at = VALUES(revoked_at),
    presence = VALUES(presence), presence_trust_ms = VALUES(presence_trust_ms),
    origin_epoch = VALUES(origin_epoch), origin_term = VALUES(origin_term)
