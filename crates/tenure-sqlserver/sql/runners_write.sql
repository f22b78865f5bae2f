-- Only the process itself writes them, so nobody does in between.
-- 1 rows
UPDATE t
SET machine = r.machine,
    pid = r.pid,
    state = r.state,
    trouble = r.trouble,
    every_ms = r.every_ms,
    cycled_ms = r.cycled_ms,
    advanced_ms = r.advanced_ms,
    counters = r.counters,
    seen_at = @now
FROM OPENJSON(@P1) WITH (
    node varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    kind nvarchar(16) '$.v[2]',
    name varbinary(200) '$.b[3]',
    machine nvarchar(max) '$.v[4]',
    pid bigint '$.v[5]',
    state nvarchar(max) '$.v[6]',
    trouble nvarchar(max) '$.v[7]',
    every_ms bigint '$.v[8]',
    cycled_ms bigint '$.v[9]',
    advanced_ms bigint '$.v[10]',
    counters nvarchar(max) '$.v[11]'
) AS r
INNER LOOP JOIN {runners} AS t WITH (ROWLOCK) ON t.node = r.node AND t.incarnation = r.incarnation COLLATE Latin1_General_100_BIN2
    AND t.kind = r.kind COLLATE Latin1_General_100_BIN2 AND t.name = r.name;
INSERT INTO {runners} (
    node, incarnation, kind, name, machine, pid, state, trouble, every_ms, cycled_ms, advanced_ms, counters, started_at, seen_at
)
SELECT r.node, r.incarnation, r.kind, r.name, r.machine, r.pid, r.state, r.trouble, r.every_ms, r.cycled_ms, r.advanced_ms,
       r.counters, @now, @now
FROM OPENJSON(@P1) WITH (
    node varbinary(200) '$.b[0]',
    incarnation nvarchar(64) '$.v[1]',
    kind nvarchar(16) '$.v[2]',
    name varbinary(200) '$.b[3]',
    machine nvarchar(max) '$.v[4]',
    pid bigint '$.v[5]',
    state nvarchar(max) '$.v[6]',
    trouble nvarchar(max) '$.v[7]',
    every_ms bigint '$.v[8]',
    cycled_ms bigint '$.v[9]',
    advanced_ms bigint '$.v[10]',
    counters nvarchar(max) '$.v[11]'
) AS r
WHERE NOT EXISTS (
    SELECT 1 FROM {runners} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
    WHERE t.node = r.node AND t.incarnation = r.incarnation COLLATE Latin1_General_100_BIN2
    AND t.kind = r.kind COLLATE Latin1_General_100_BIN2 AND t.name = r.name
)
