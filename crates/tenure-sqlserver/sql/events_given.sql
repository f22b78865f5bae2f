-- The positions of the last events of streams.
-- 1 rows of stream and version
SELECT e.stream, e.position
FROM OPENJSON(@P1) WITH (stream varbinary(500) '$.b[0]', version bigint '$.v[1]') AS r
INNER LOOP JOIN {events} AS e ON e.stream = r.stream AND e.version = r.version
