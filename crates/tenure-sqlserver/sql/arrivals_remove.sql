-- Takes some off the list of what has just come.
-- 1 numbers
DELETE a FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox_arrivals} AS a WITH (ROWLOCK) ON a.id = asked.id
