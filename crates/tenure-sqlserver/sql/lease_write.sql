-- Writes whole rows. Whoever calls this holds their fences, so nobody writes them in between.
-- 1 rows
UPDATE t
SET term = r.term, node = r.node, incarnation = r.incarnation, claim = r.claim, renewals = r.renewals, machine = r.machine,
    pid = r.pid, kind = r.kind, backend = r.backend, acquired_at = r.acquired_at, renewed_at = r.renewed_at,
    expires_at = r.expires_at, released_at = r.released_at, revoked_at = r.revoked_at, presence = r.presence,
    presence_trust_ms = r.presence_trust_ms, origin_epoch = r.origin_epoch, origin_term = r.origin_term
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]', term bigint '$.v[1]', node nvarchar(200) '$.v[2]', incarnation nvarchar(64) '$.v[3]',
    claim nvarchar(64) '$.v[4]', renewals bigint '$.v[5]', machine nvarchar(max) '$.v[6]', pid bigint '$.v[7]',
    kind nvarchar(max) '$.v[8]', backend nvarchar(64) '$.v[9]', acquired_at datetime2(6) '$.v[10]',
    renewed_at datetime2(6) '$.v[11]', expires_at datetime2(6) '$.v[12]', released_at datetime2(6) '$.v[13]',
    revoked_at datetime2(6) '$.v[14]', presence nvarchar(64) '$.v[15]', presence_trust_ms int '$.v[16]',
    origin_epoch nvarchar(max) '$.v[17]', origin_term bigint '$.v[18]'
) AS r
INNER LOOP JOIN {leases} AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO {leases} (
    name, term, node, incarnation, claim, renewals, machine, pid, kind, backend,
    acquired_at, renewed_at, expires_at, released_at, revoked_at, presence, presence_trust_ms,
    origin_epoch, origin_term
)
SELECT r.name, r.term, r.node, r.incarnation, r.claim, r.renewals, r.machine, r.pid, r.kind, r.backend,
       r.acquired_at, r.renewed_at, r.expires_at, r.released_at, r.revoked_at, r.presence, r.presence_trust_ms,
       r.origin_epoch, r.origin_term
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]', term bigint '$.v[1]', node nvarchar(200) '$.v[2]', incarnation nvarchar(64) '$.v[3]',
    claim nvarchar(64) '$.v[4]', renewals bigint '$.v[5]', machine nvarchar(max) '$.v[6]', pid bigint '$.v[7]',
    kind nvarchar(max) '$.v[8]', backend nvarchar(64) '$.v[9]', acquired_at datetime2(6) '$.v[10]',
    renewed_at datetime2(6) '$.v[11]', expires_at datetime2(6) '$.v[12]', released_at datetime2(6) '$.v[13]',
    revoked_at datetime2(6) '$.v[14]', presence nvarchar(64) '$.v[15]', presence_trust_ms int '$.v[16]',
    origin_epoch nvarchar(max) '$.v[17]', origin_term bigint '$.v[18]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM {leases} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)
