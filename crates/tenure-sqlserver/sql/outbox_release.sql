-- Sources go on that stood still behind these.
-- 1 numbers
UPDATE o SET queued = 0 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
WHERE o.queued = 2
