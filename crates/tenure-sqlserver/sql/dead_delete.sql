-- 1 numbers
DELETE d FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_dead} AS d WITH (ROWLOCK) ON d.id = asked.id
