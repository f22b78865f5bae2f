-- One that is there already, by whatever hand, stays, and holds up nothing.
-- 1 rows of message, number, outcome, how long it took, node, term, error
INSERT INTO {outbox_attempts} (message, number, outcome, took_us, node, term, error)
SELECT r.message, r.number, r.outcome, r.took_us, r.node, r.term, r.error
FROM OPENJSON(@P1) WITH (
    message bigint '$.v[0]', number int '$.v[1]', outcome nvarchar(16) '$.v[2]', took_us bigint '$.v[3]',
    node nvarchar(200) '$.v[4]', term bigint '$.v[5]', error nvarchar(max) '$.v[6]'
) AS r
WHERE NOT EXISTS (
    SELECT 1 FROM {outbox_attempts} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK)
    WHERE t.message = r.message AND t.number = r.number
)
