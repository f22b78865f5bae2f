-- Writes whole rows. Whoever calls this holds those that are there; a place that is empty is held by the look (UPDLOCK, HOLDLOCK).
-- 1 rows: name, term, whether the lease is held
UPDATE t
SET term = r.term, [open] = r.[open]
FROM OPENJSON(@P1) WITH (name varbinary(200) '$.b[0]', term bigint '$.v[1]', [open] tinyint '$.v[2]') AS r
INNER LOOP JOIN {fences} AS t WITH (ROWLOCK) ON t.name = r.name;
INSERT INTO {fences} (name, term, [open])
SELECT r.name, r.term, r.[open]
FROM OPENJSON(@P1) WITH (name varbinary(200) '$.b[0]', term bigint '$.v[1]', [open] tinyint '$.v[2]') AS r
WHERE NOT EXISTS (SELECT 1 FROM {fences} AS t WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE t.name = r.name)
