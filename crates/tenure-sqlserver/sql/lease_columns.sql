l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, l.backend,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.acquired_at) AS acquired_us,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.renewed_at) AS renewed_us,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.expires_at) AS expires_us,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.released_at) AS released_us,
DATEDIFF_BIG(MICROSECOND, '1970-01-01', l.revoked_at) AS revoked_us,
l.presence, l.presence_trust_ms, l.origin_epoch, l.origin_term
