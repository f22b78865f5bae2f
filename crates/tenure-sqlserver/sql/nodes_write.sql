-- Writes whole rows. Whoever calls this holds the cluster's row, so nobody writes them in between.
-- 1 rows
UPDATE t
SET incarnation = r.incarnation,
    term = r.term,
    machine = r.machine,
    pid = r.pid,
    labels = r.labels,
    version = r.version,
    capacity = r.capacity,
    leads = r.leads,
    agents = r.agents,
    leaving = r.leaving,
    joined_at = r.joined_at,
    revision = r.revision
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    term bigint '$.v[2]',
    machine nvarchar(max) '$.v[3]',
    pid bigint '$.v[4]',
    labels nvarchar(max) '$.v[5]',
    version nvarchar(200) '$.v[6]',
    capacity bigint '$.v[7]',
    leads tinyint '$.v[8]',
    agents nvarchar(max) '$.v[9]',
    leaving tinyint '$.v[10]',
    joined_at datetime2(6) '$.v[11]',
    revision bigint '$.v[12]'
) AS r
INNER LOOP JOIN {nodes} AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO {nodes} (name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, joined_at, revision)
SELECT r.name, r.incarnation, r.term, r.machine, r.pid, r.labels, r.version, r.capacity, r.leads, r.agents, r.leaving, r.joined_at, r.revision
FROM OPENJSON(@P1) WITH (
    name varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    term bigint '$.v[2]',
    machine nvarchar(max) '$.v[3]',
    pid bigint '$.v[4]',
    labels nvarchar(max) '$.v[5]',
    version nvarchar(200) '$.v[6]',
    capacity bigint '$.v[7]',
    leads tinyint '$.v[8]',
    agents nvarchar(max) '$.v[9]',
    leaving tinyint '$.v[10]',
    joined_at datetime2(6) '$.v[11]',
    revision bigint '$.v[12]'
) AS r
WHERE NOT EXISTS (SELECT 1 FROM {nodes} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)
