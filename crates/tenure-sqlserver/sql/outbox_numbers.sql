-- The numbers of the messages with these ids.
-- 1 ids
SELECT o.id
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id nvarchar(64) '$')) AS asked
INNER LOOP JOIN {outbox} AS o ON o.message_id = asked.id COLLATE Latin1_General_100_CI_AS
