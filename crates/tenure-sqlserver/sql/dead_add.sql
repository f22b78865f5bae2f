-- 1 rows of number, outcome, reason, attempts, whether its source stands still behind it, cause
INSERT INTO {outbox_dead} (id, outcome, reason, attempts, halts, cause)
SELECT r.id, r.outcome, r.reason, r.attempts, r.halts, r.cause
FROM OPENJSON(@P1) WITH (
    id bigint '$.v[0]', outcome nvarchar(16) '$.v[1]', reason nvarchar(max) '$.v[2]', attempts int '$.v[3]', halts tinyint '$.v[4]',
    cause bigint '$.v[5]'
) AS r
