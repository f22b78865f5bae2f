-- Rows by number, as far as they are in the queue still.
-- 1 numbers
SELECT {outbox_columns} FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox} AS o ON o.id = asked.id
WHERE o.queued > 0
