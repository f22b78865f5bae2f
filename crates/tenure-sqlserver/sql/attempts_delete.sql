-- 1 messages
DELETE a FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_attempts} AS a WITH (ROWLOCK) ON a.message = asked.id
