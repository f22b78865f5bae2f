-- 1 numbers
UPDATE o SET queued = 2, attempts = o.attempts + 1 FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
