-- 1 numbers
DELETE o FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
