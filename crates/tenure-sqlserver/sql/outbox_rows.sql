-- Rows by number, as far as they are in the queue still.
-- 1 numbers
SELECT {outbox_columns} FROM {outbox} AS o WHERE o.queued = 1 AND o.id IN (SELECT asked.id FROM OPENJSON(@P1) WITH (id bigint '$') AS asked)
