-- The positions of the last events of streams, which this transaction has inserted.
-- 1 rows of stream and its last version, 2 streams
SELECT e.stream, e.position
FROM OPENJSON(@P1) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
INNER LOOP JOIN {events} AS e ON e.stream = r.stream AND e.version = r.version
