l.name, l.term, l.node, l.incarnation, l.machine, l.pid, l.claim, l.renewals, l.kind, l.backend,
l.acquired_at as acquired_us, l.renewed_at as renewed_us, l.expires_at as expires_us, l.released_at as released_us,
l.revoked_at as revoked_us, l.presence, l.presence_trust_ms, l.clock_boot, l.clock_us, l.origin_epoch, l.origin_term
