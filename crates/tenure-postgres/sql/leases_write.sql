-- Writes whole rows, given as lists, as lease_write.sql does with one. Whoever calls this holds the cluster's row, and the
-- strong lock of every row that is there.
INSERT INTO {leases} AS l (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms,
    origin_epoch, origin_term
)
SELECT * FROM unnest(
    $1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::text[],
    $10::text[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[],
    $16::text[], $17::integer[], $18::text[], $19::bigint[]
)
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
