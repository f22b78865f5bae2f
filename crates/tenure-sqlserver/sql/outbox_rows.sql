-- Rows by number, as far as they are in the queue still; also one that its source stands still behind.
-- 1 numbers
SELECT {outbox_columns} FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_pending} AS p ON p.id = asked.id
LEFT LOOP JOIN {outbox} AS o ON o.id = p.id
LEFT LOOP JOIN {outbox_arrivals} AS n ON n.id = p.id
