-- They are fresh no more.
-- 1 numbers
UPDATE o SET fresh = NULL FROM OPENJSON(@P1) WITH (id bigint '$') AS asked
INNER LOOP JOIN {outbox} AS o WITH (ROWLOCK) ON o.id = asked.id
