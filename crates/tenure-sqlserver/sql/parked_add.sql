-- 1 rows of what the columns say
INSERT INTO {parked} (subscription, position, stream, version, type, attempts, reason)
SELECT r.subscription, r.position, r.stream, r.version, r.type, r.attempts, r.reason
FROM OPENJSON(@P1) WITH (
    subscription varbinary(200) '$.b[0]', position bigint '$.v[1]', stream varbinary(500) '$.b[2]', version bigint '$.v[3]',
    type nvarchar(250) '$.v[4]', attempts int '$.v[5]', reason nvarchar(max) '$.v[6]'
) AS r
