-- Messages that are dead, also discarded ones, as the audit trail names them. Read behind the locks of their rows.
-- 1 numbers
SELECT o.id, o.message_id, SUBSTRING(o.topic, 1, 300) AS topic, SUBSTRING(o.type, 1, 300) AS type, d.reason,
       CASE WHEN d.discarded_at IS NULL THEN 0 ELSE 1 END AS discarded, d.cause
FROM (SELECT DISTINCT id FROM OPENJSON(@P1) WITH (id bigint '$')) AS asked
INNER LOOP JOIN {outbox_dead} AS d ON d.id = asked.id
INNER LOOP JOIN {outbox} AS o ON o.id = d.id
ORDER BY o.id
