-- 1 numbers
DELETE h
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {lease_history} AS h WITH (ROWLOCK) ON h.id = asked.id
