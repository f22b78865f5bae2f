-- 1 rows, the oldest first
INSERT INTO {lease_history} (name, term, cause, node, incarnation, machine, pid, at)
SELECT r.name, r.term, r.cause, r.node, r.incarnation, r.machine, r.pid, r.at
FROM OPENJSON(@P1) WITH (
    i int '$.i', name varbinary(200) '$.b[0]', term bigint '$.v[1]', cause nvarchar(32) '$.v[2]', node nvarchar(200) '$.v[3]',
    incarnation nvarchar(64) '$.v[4]', machine nvarchar(max) '$.v[5]', pid bigint '$.v[6]', at datetime2(6) '$.v[7]'
) AS r
ORDER BY r.i
