insert into {leases} (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms, clock_boot, clock_us,
    origin_epoch, origin_term
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
on conflict (name) do update set
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
    clock_boot = excluded.clock_boot,
    clock_us = excluded.clock_us,
    origin_epoch = excluded.origin_epoch,
    origin_term = excluded.origin_term
