-- 1 numbers
DELETE p
FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_pending} AS p WITH (ROWLOCK) ON p.id = asked.id
